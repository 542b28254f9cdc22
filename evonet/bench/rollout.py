"""Whole episodes of control tasks, per step that is taken."""

from __future__ import annotations

from functools import partial

import numpy as np

from evonet.backends.reference.control import reset
from evonet.bench.comparison import BenchOptions, Findings, SpeedComparison, Work
from evonet.bench.peers.cartpole import play_alone, play_together
from evonet.bench.peers.level_networks import LevelNetworks
from evonet.bench.timing import Contender, take_turns
from evonet.config import Config
from evonet.definitions.controls import find_control
from evonet.genes.population import Population
from evonet.installation import resource_folder
from evonet.messages import counted
from evonet.network import Network
from evonet.network import compile as compile_network
from evonet.runs.loop import evolve
from evonet.tasks import Control

SEED, STEPS = 7, 500
CONTROLS = ("cartpole", "mountain_car", "pendulum", "acrobot", "double_pole")
EPISODES = (1, 5, 20)
NEAT_GENOMES = 25


def run_rollout(options: BenchOptions) -> Findings:
    """Times episodes of every control, then CartPole beside others, on the same genomes."""
    controls = CONTROLS[:1] if options.quick else CONTROLS
    return Findings([*(_cost_of_a_step(name, options) for name in controls), _compare(options)])


def _play(network: Network, control: str, episodes: int) -> float:
    """Plays, and returns the number of steps."""
    played = network.rollout(control, episodes=episodes, seed=SEED, max_steps=STEPS)
    return int(played.steps.sum())


def _cost_of_a_step(name: str, options: BenchOptions) -> SpeedComparison:
    """Random networks, on one thread."""
    control = find_control(name)
    genomes = 50 if options.quick else 500
    inputs, outputs = control.num_inputs, control.num_outputs
    population = Population.random(
        genomes, inputs, outputs, num_nodes=10, num_connections=20, activations=("tanh",), seed=1
    )
    network = compile_network(population, backend="cpu", threads=1)
    options.say(f"episodes of {name}")
    contenders = []
    for episodes in EPISODES:
        play = partial(_play, network, name, episodes)
        note = f"of {play() / (genomes * episodes):.0f} steps"
        contenders.append(Contender(counted(episodes, "episode"), play, note))
    return SpeedComparison(
        f"rollout-{name}",
        f"{name}: {genomes} random genomes of 10 nodes and 20 connections, one thread",
        "a step",
        take_turns(contenders, options.rounds, 0.02),
        Work(fma=network.schedule.num_edges / genomes),
    )


def _evolved_population(size: int, generations: int) -> Population:
    """Genomes that balance CartPole's pole for all 500 steps, some of them twice.

    They are bred with mutations that make networks grow.
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
    task = Control("cartpole", retests=0)
    bred = evolve(task, config, generations=generations, backend="cpu").algorithm.ask()
    steps = compile_network(bred, backend="cpu").rollout("cartpole", seed=SEED).steps[:, 0]
    return bred[np.resize(np.flatnonzero(steps == STEPS), size).tolist()]


def _compare(options: BenchOptions) -> SpeedComparison:
    size = 100 if options.quick else 1000
    options.say("CartPole beside others")
    population = _evolved_population(size, 15)
    network = compile_network(population, backend="cpu", threads=options.threads)
    schedule = network.schedule
    assert len(np.unique(schedule.activation)) == 1, "the shipped config has a single activation"
    start = reset("cartpole", SEED, np.zeros(size), np.dtype(np.float64)).astype(np.float64)
    numpy_networks = LevelNetworks(schedule, "tanh", own_inputs=True)

    def step_by_step(networks: Network | LevelNetworks) -> int:
        return play_together(lambda seen: networks(seen[:, None, :])[:, 0], start)

    contenders = [
        Contender("evonet, fused", partial(_play, network, "cartpole", 1)),
        Contender("evonet, 20 episodes", partial(_play, network, "cartpole", 20)),
        Contender("evonet, one call per step", partial(step_by_step, network), "task in NumPy"),
        Contender("NumPy", partial(step_by_step, numpy_networks), "task in NumPy"),
    ]
    if options.peers.find("neat-python"):
        from evonet.bench.peers.neat_python import neat_networks

        nets, first = neat_networks(population[:NEAT_GENOMES]), start[:, 0].tolist()

        def play_all() -> int:
            return sum(play_alone(net.activate, first) for net in nets)

        contenders.append(Contender("neat-python", play_all, "one process, task in plain Python"))
    nodes, links = schedule.num_nodes / size, schedule.num_edges / size
    return SpeedComparison(
        "rollout-compared",
        f"CartPole, {size:,} genomes of {nodes:.1f} live nodes and {links:.1f} links that "
        f"balance for {STEPS} steps",
        "a step",
        options.take_turns(contenders),
        Work(fma=links, l1=4 * (nodes + links)),
    )
