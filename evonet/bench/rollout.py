"""Whole episodes of control tasks, per step that is really taken."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evonet.backends.reference.control import reset
from evonet.bench.comparison import Comparison, Findings, Settings, Work
from evonet.bench.timing import Contender, take_turns
from evonet.config import Config
from evonet.definitions.controls import find_control
from evonet.genes.population import Population
from evonet.installation import resource_folder
from evonet.network import Network
from evonet.network import compile as compile_network
from evonet.runs.loop import evolve
from evonet.tasks import Control

COMMAND = "evonet bench rollout"
SEED, STEPS = 7, 500
CONTROLS = ("cartpole", "mountain_car", "pendulum", "acrobot", "double_pole")
EPISODES = (1, 5, 20)
NEAT_GENOMES = 25


def run_rollout(settings: Settings) -> Findings:
    """Times episodes of every control, then CartPole beside others, on the same genomes.

    Args:
        settings: How.

    Raises:
        BackendError: The compiled extension is missing.
    """
    controls = CONTROLS[:1] if settings.quick else CONTROLS
    found = Findings([_cost_of_a_step(name, settings) for name in controls])
    found.comparisons.append(_compare(settings))
    return found


def _cost_of_a_step(name: str, settings: Settings) -> Comparison:
    """Networks that nobody has bred yet, on one thread."""
    control = find_control(name)
    genomes = 50 if settings.quick else 500
    population = Population.random(
        genomes,
        control.num_inputs,
        control.num_outputs,
        num_nodes=10,
        num_connections=20,
        activations=("tanh",),
        seed=1,
    )
    network = compile_network(population, backend="cpu", threads=1)
    settings.say(f"episodes of {name}")
    contenders, lengths = [], []
    for episodes in EPISODES:

        def play(episodes: int = episodes) -> float:
            played = network.rollout(name, episodes=episodes, seed=SEED, max_steps=STEPS)
            return int(played.steps.sum())

        length = play() / (genomes * episodes)
        lengths.append(length)
        label = "1 episode" if episodes == 1 else f"{episodes} episodes"
        contenders.append(Contender(label, play, f"of {length:.0f} steps"))
    return Comparison(
        name=f"rollout-{name}",
        title=f"{name}: {genomes} random genomes of 10 nodes and 20 connections, one thread",
        unit="a step",
        entries=take_turns(contenders, settings.rounds, 0.02),
        work=Work(fma=network.schedule.num_edges / genomes),
        command=COMMAND,
    )


def evolved_population(size: int, generations: int) -> Population:
    """Genomes that balance CartPole's pole for all 500 steps, some of them twice.

    Args:
        size: P.
        generations: To breed, with mutations that make networks grow.
    """
    config = Config.load(resource_folder("configs") / "cartpole.toml").replace(
        {
            "neat.pop_size": 1000,
            "neat.fitness_threshold": 1e9,
            "genome.node_add_prob": 0.6,
            "genome.conn_add_prob": 0.8,
            "genome.node_delete_prob": 0.1,
            "genome.conn_delete_prob": 0.2,
        }
    )
    task = Control("cartpole", trials=0)
    bred = evolve(task, config, generations=generations, backend="cpu").algorithm.ask()
    steps = compile_network(bred, backend="cpu").rollout("cartpole", seed=SEED).steps[:, 0]
    return bred[np.resize(np.flatnonzero(steps == STEPS), size).tolist()]


def _compare(settings: Settings) -> Comparison:
    from evonet.bench.peers.cartpole import play_together

    size = 100 if settings.quick else 1000
    settings.say("CartPole beside others")
    population = evolved_population(size, 15)
    network = compile_network(population, backend="cpu", threads=settings.threads)
    start = reset("cartpole", SEED, np.zeros(len(population)), np.dtype(np.float64)).astype(
        np.float64
    )

    def fused(episodes: int) -> Callable[[], float]:
        return lambda: int(network.rollout("cartpole", seed=SEED, episodes=episodes).steps.sum())

    contenders = [
        Contender("evonet, fused", fused(1)),
        Contender("evonet, 20 episodes", fused(20)),
        Contender(
            "evonet, one call per step",
            lambda: play_together(lambda seen: network(seen[:, None, :])[:, 0], start),
            "task in NumPy",
        ),
        *_numpy(network, start),
    ]
    if settings.peers.find("neat-python"):
        contenders.append(_neat_python(population, start[:, 0].tolist()))
    nodes, links = (
        count / len(population)
        for count in (network.schedule.num_nodes, network.schedule.num_edges)
    )
    return Comparison(
        name="rollout-compared",
        title=f"CartPole, {size:,} genomes of {nodes:.1f} live nodes and {links:.1f} links that "
        f"balance for {STEPS} steps",
        unit="a step",
        entries=take_turns(contenders, settings.rounds, settings.turn),
        work=Work(fma=links, l1=4 * (nodes + links)),
        command=COMMAND,
    )


def _numpy(network: Network, start: np.ndarray) -> list[Contender]:
    from evonet.bench.peers.cartpole import play_together
    from evonet.bench.peers.numpy_networks import NumpyNetworks

    functions = np.unique(network.schedule.activation)
    assert len(functions) == 1, "the shipped config has a single activation"
    plain = NumpyNetworks(network.schedule, "tanh", own_inputs=True)
    return [
        Contender(
            "NumPy",
            lambda: play_together(lambda seen: plain(seen[:, None, :])[:, 0], start),
            "task in NumPy",
        )
    ]


def _neat_python(population: Population, start: list[float]) -> Contender:
    from evonet.bench.peers.cartpole import play_alone
    from evonet.bench.peers.neat_python import neat_networks

    nets = neat_networks(population[:NEAT_GENOMES])
    return Contender(
        "neat-python",
        lambda: sum(play_alone(net.activate, start) for net in nets),
        "one process, task in plain Python",
    )
