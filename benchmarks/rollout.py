"""Rollouts beside neat-python and NumPy, on the same genomes and episodes, in one run.

    python benchmarks/rollout.py [--rounds 5] [--threads 0]

First the CPU time of one step, network and task together, on one thread. Then CartPole with 1,000
evolved genomes that balance for all 500 steps: evonet's rollout with 1 and with 20 episodes, a
loop with one network call per step and the task in NumPy, the same with the networks in NumPy
too, and neat-python's networks with the task in plain Python. Rounds alternate, so that all meet
the same weather on a shared machine; medians are compared, per step that is really taken.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import neat
import numpy as np
from forward import neat_networks

import evonet
from evonet.backends.cpu import CpuBackend
from evonet.backends.reference_control import reset
from evonet.controls import find_control
from evonet.resources import resource_folder
from evonet.tasks import Control

SEED, STEPS = 7, 500


def cost_of_a_step(name: str, episodes: int, rounds: int) -> None:
    control = find_control(name)
    population = evonet.Population.random(
        500,
        control.num_inputs,
        control.num_outputs,
        num_nodes=10,
        num_connections=20,
        activations=("tanh",),
        seed=1,
    )
    network = evonet.compile(population, threads=1)
    spent = []
    for _ in range(rounds):
        begin = time.process_time()
        steps = network.rollout(name, episodes=episodes, seed=SEED, max_steps=STEPS).steps.sum()
        spent.append((time.process_time() - begin) / int(steps))
    length = int(steps) / (500 * episodes)
    print(
        f"{name:24} {episodes:3} episodes of {length:5.0f} steps: "
        f"best {min(spent) * 1e9:6.1f}, median {statistics.median(spent) * 1e9:6.1f} ns per step"
    )


def evolved_population() -> evonet.Population:
    """1,000 genomes that balance for all 500 steps, bred for 15 generations, some of them twice."""
    config = evonet.Config.load(resource_folder("configs") / "cartpole.toml").replace(
        {
            "neat.pop_size": 1000,
            "neat.fitness_threshold": 1e9,
            "genome.node_add_prob": 0.6,
            "genome.conn_add_prob": 0.8,
            "genome.node_delete_prob": 0.1,
            "genome.conn_delete_prob": 0.2,
        }
    )
    bred = evonet.evolve(Control("cartpole", trials=0), config, generations=15).neat.ask()
    steps = evonet.compile(bred).rollout("cartpole", seed=SEED).steps[:, 0]
    return bred[np.resize(np.flatnonzero(steps == STEPS), 1000)]


def fly(state: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """CartPole in NumPy: states [4, P] after a push, and who has failed."""
    _, speed, angle, turn = state
    sin, cos = np.sin(angle), np.cos(angle)
    push = (np.where(right, 10.0, -10.0) + 0.05 * turn**2 * sin) / 1.1
    turning = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
    speeding = push - 0.05 * turning * cos / 1.1
    state = state + 0.02 * np.stack([speed, speeding, turn, turning])
    return state, (abs(state[0]) > 2.4) | (abs(state[2]) > math.radians(12))


def numpy_loop(answer: Callable[[np.ndarray], np.ndarray], start: np.ndarray) -> int:
    """Plays one episode per genome; answer maps what is seen [P, 4] to outputs [P, 2]."""
    state, playing, steps = start.copy(), np.ones(start.shape[1], bool), 0
    for _ in range(STEPS):
        outputs = answer(state.T)
        steps += int(playing.sum())
        state, failed = fly(state, outputs[:, 1] > outputs[:, 0])
        playing &= ~failed
        if not playing.any():
            break
    return steps


def numpy_networks(schedule: evonet.Schedule) -> Callable[[np.ndarray], np.ndarray]:
    """The networks as one dense array [P, N, slots], a node of all genomes at a time."""
    counts = np.diff(schedule.node_start)
    num_genomes, most = len(counts), int(counts.max())
    weights = np.zeros((most, num_genomes, 4 + most), np.float32)
    bias = np.zeros((most, num_genomes), np.float32)
    for g in range(num_genomes):
        for k in range(int(counts[g])):
            node = int(schedule.node_start[g]) + k
            bias[k, g] = schedule.bias[node]
            for e in range(int(schedule.edge_start[node]), int(schedule.edge_start[node + 1])):
                weights[k, g, schedule.source[e]] += schedule.weight[e]
    slots, rows = schedule.output_slot, np.arange(num_genomes)[:, None]
    values = np.zeros((num_genomes, 4 + most), np.float32)

    def answer(seen: np.ndarray) -> np.ndarray:
        values[:, :4] = seen
        for k in range(most):
            total = np.einsum("ps,ps->p", weights[k, :, : 4 + k], values[:, : 4 + k])
            values[:, 4 + k] = np.tanh(2.5 * (bias[k] + total))
        result: np.ndarray = values[rows, slots]
        return result

    return answer


def python_episode(net: neat.nn.FeedForwardNetwork, start: list[float]) -> int:
    """CartPole in plain Python."""
    x, speed, angle, turn = start
    steps = 0
    for steps in range(1, STEPS + 1):  # noqa: B007
        left, right = net.activate((x, speed, angle, turn))
        sin, cos = math.sin(angle), math.cos(angle)
        push = ((10.0 if right > left else -10.0) + 0.05 * turn * turn * sin) / 1.1
        turning = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
        speeding = push - 0.05 * turning * cos / 1.1
        x, speed = x + 0.02 * speed, speed + 0.02 * speeding
        angle, turn = angle + 0.02 * turn, turn + 0.02 * turning
        if abs(x) > 2.4 or abs(angle) > math.radians(12):
            break
    return steps


def compare(rounds: int, threads: int) -> None:
    population = evolved_population()
    network = evonet.compile(population, threads=threads)
    start = reset("cartpole", SEED, np.zeros(len(population)), np.dtype(np.float64))
    nets = neat_networks(population, 25)
    plain = numpy_networks(network.schedule)
    begin_list = start[:, 0].tolist()
    ways: dict[str, Callable[[], int]] = {
        "evonet, fused": lambda: int(network.rollout("cartpole", seed=SEED).steps.sum()),
        "evonet, 20 episodes": lambda: int(
            network.rollout("cartpole", seed=SEED, episodes=20).steps.sum()
        ),
        "one call per step, NumPy task": lambda: numpy_loop(
            lambda seen: network(seen[:, None, :])[:, 0], start
        ),
        "NumPy networks, NumPy task": lambda: numpy_loop(plain, start),
        "neat-python, Python task (25)": lambda: sum(
            python_episode(net, begin_list) for net in nets
        ),
    }
    spent: dict[str, list[float]] = {way: [] for way in ways}
    steps: dict[str, int] = {}
    for _ in range(rounds):
        for way, play in ways.items():
            begin = time.perf_counter()
            steps[way] = play()
            spent[way].append((time.perf_counter() - begin) / steps[way])
    schedule = network.schedule
    print(
        f"CartPole, {len(population)} genomes of {schedule.num_nodes / len(population):.1f} live "
        f"nodes and {schedule.num_edges / len(population):.1f} links:"
    )
    ours = statistics.median(spent["evonet, fused"])
    for way, each in spent.items():
        median = statistics.median(each)
        print(
            f"  {way:30} {steps[way]:11,} steps: best {min(each) * 1e9:9.1f}, "
            f"median {median * 1e9:9.1f} ns per step | {median / ours:7.1f}x"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0)
    arguments: Any = parser.parse_args()
    print(
        f"evonet {evonet.__version__}, {CpuBackend().simd_level()}; neat-python "
        f"{neat.__version__}, Python {sys.version.split()[0]}, NumPy {np.__version__}"
    )
    print("10 nodes, 20 connections, CPU time of one thread:")
    for name in ("cartpole", "mountain_car", "pendulum", "acrobot", "double_pole"):
        for episodes in (1, 5, 20):
            cost_of_a_step(name, episodes, arguments.rounds)
    compare(arguments.rounds, arguments.threads)


if __name__ == "__main__":
    main()
