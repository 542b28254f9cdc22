"""Times the host's work in a generation, phase by phase, beside a GPU that does nothing.

    python -m benchmarks.generation [--rounds 5] [--threads 2] [--profile evaluate]

Kernels and copies are skipped, so what is left is what the host does: breed, divide into species,
compile, pack, launch. Genes stay on the host, since a GPU that does nothing breeds nobody. The last
lines are the microseconds of repeated calls of one network.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import evonet
from benchmarks import idle_gpu
from evonet.config import Config
from evonet.evolution import NEAT
from evonet.evolution.record import Seconds, describe_generation
from evonet.network import Network
from evonet.tasks import Supervised, xor

NO_TIME = Seconds(ask=0.0, compile=0.0, evaluate=0.0, tell=0.0)
REPEATS = 300  # calls of one network


class Workload(NamedTuple):
    """What is evolved and on what it is scored."""

    name: str
    config: Config
    task: Supervised
    generations: int  # evolved before anything is timed


def medium(genomes: int) -> Workload:
    """Genomes of 50 nodes and about 200 links on 256 samples."""
    config = Config.from_dict(
        {
            "neat": {"pop_size": genomes},
            "genome": {
                "num_inputs": 8,
                "num_outputs": 4,
                "num_hidden": 46,
                "initial_connection": "partial_direct 0.34",
                "conn_add_prob": 0.3,
                "node_add_prob": 0.1,
            },
            "speciation": {"threshold": 4.0},
        }
    )
    rng = np.random.default_rng(1)
    task = Supervised(rng.normal(size=(256, 8)), rng.normal(size=(256, 4)))
    return Workload(f"{genomes:,} genomes of 50 nodes, 200 links, 256 samples", config, task, 2)


def small(genomes: int) -> Workload:
    """Genomes of XOR, as they are after some generations."""
    config = Config.load("configs/xor.toml")
    config = config.replace(neat={"pop_size": genomes})
    return Workload(f"{genomes:,} genomes of XOR", config, xor(), 6)


class Phases:
    """Seconds of every round by phase, in the order in which they first came."""

    def __init__(self) -> None:
        self.rounds: dict[str, list[float]] = {}

    @contextmanager
    def time(self, name: str) -> Iterator[None]:
        """Adds what happens meanwhile to a phase."""
        start = time.perf_counter()
        yield
        self.note(name, time.perf_counter() - start)

    def note(self, name: str, seconds: float) -> None:
        """Adds a round to a phase."""
        self.rounds.setdefault(name, []).append(seconds)

    def print(self) -> None:
        """Prints the median of each phase."""
        for name, seconds in self.rounds.items():
            print(f"  {name:32} {1e3 * statistics.median(seconds):9.2f} ms")


def run_generation(algorithm: NEAT, work: Workload, phases: Phases, threads: int) -> Network:
    """One generation; its fitness is random, since the GPU computes nothing."""
    before = dict(algorithm.spent)
    start = time.perf_counter()
    population = algorithm.ask()
    whole = time.perf_counter() - start
    parts = {name: spent - before.get(name, 0.0) for name, spent in algorithm.spent.items()}
    phases.note("ask: plan and the rest", whole - sum(parts.values()))
    for name, seconds in parts.items():
        phases.note(f"ask: {name}", seconds)
    with phases.time("compile"):
        network = evonet.compile(population, backend="cuda", threads=threads)
    with phases.time("evaluate"):
        work.task.evaluate(network, seed=algorithm.generation)
    with phases.time("tell"):
        rng = np.random.default_rng(algorithm.generation)
        algorithm.tell(rng.normal(size=len(population)))
    with phases.time("describe"):
        describe_generation(algorithm, 0, NO_TIME)
    return network


def microseconds(call: Callable[[], Any]) -> float:
    """What a repeated call takes: the median."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return 1e6 * statistics.median(seconds)


def print_calls(threads: int) -> None:
    """Repeated calls of one network, on a GPU's arrays and on the host's."""
    population = evonet.Population.random(1000, 8, 4, num_nodes=50, num_connections=200)
    network = evonet.compile(population, backend="cuda", threads=threads)
    x, targets = np.ones((32, 8), np.float32), np.zeros((32, 4), np.float32)
    there, goals = idle_gpu.Array(x.shape, x.dtype), idle_gpu.Array(targets.shape, targets.dtype)
    calls: dict[str, Callable[[], Any]] = {
        'network(x, out="device"), x on the GPU': lambda: network(there, out="device"),
        'network(x, out="device"), x of NumPy': lambda: network(x, out="device"),
        "network(x)": lambda: network(x),
        "network.loss, both on the GPU": lambda: network.loss(there, goals),
        "network.loss": lambda: network.loss(x, targets),
    }
    print("repeated calls, 1,000 genomes and 32 samples")
    for name, call in calls.items():
        call()
        print(f"  {name:40} {microseconds(call):7.1f} us")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--genomes", type=int, nargs=2, default=(10_000, 1_000_000))
    parser.add_argument("--profile", choices=("ask", "evaluate"))
    options = parser.parse_args()
    idle_gpu.install()
    for work in (medium(options.genomes[0]), small(options.genomes[1])):
        algorithm = NEAT(work.config, seed=1, backend="cpu", threads=options.threads)
        for _ in range(work.generations):
            run_generation(algorithm, work, Phases(), options.threads)
        population = algorithm.state.population
        print(
            f"{work.name}: {population.num_nodes / len(population):.1f} nodes, "
            f"{population.num_connections / len(population):.1f} links each"
        )
        phases = Phases()
        if options.profile:
            profile = cProfile.Profile()
            profile.runcall(run_generation, algorithm, work, phases, options.threads)
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)
            continue
        for _ in range(options.rounds):
            run_generation(algorithm, work, phases, options.threads)
        phases.print()
    print_calls(options.threads)


if __name__ == "__main__":
    main()
