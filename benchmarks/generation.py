"""A whole generation beside neat-python's, same config, split by phase, in one run.

    python benchmarks/generation.py [--rounds 3] [--workloads xor-1000,xor-10000,medium-1000]
    python benchmarks/generation.py --scale          # cost per genome up to a million genomes

Both evolve from their own first generation for a few generations, so that genomes
have grown alike; then they take turns, some generations each, as many as a run has in a
row: a single generation would measure cold caches. The table shows medians per generation.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from neat_loop import NeatPythonRun

import evonet
from evonet.config import Config
from evonet.evolution import NEAT
from evonet.resources import resource_folder
from evonet.tasks import Supervised, xor

BLOCK = 5  # generations in a row
XOR_INI = resource_folder("configs") / "xor-neat.ini"


@dataclass
class EvonetRun:
    """evonet's loop, one generation per call, timed by phase."""

    config: Config
    task: Supervised
    seed: int = 1
    seconds: dict[str, float] = field(default_factory=lambda: {"evaluate": 0.0, "ask": 0.0})

    def __post_init__(self) -> None:
        self.neat = NEAT(self.config, seed=self.seed)

    def generation(self) -> None:
        """Asks, evaluates and tells once."""
        begin = time.perf_counter()
        population = self.neat.ask()
        asked = time.perf_counter()
        network = evonet.compile(population)
        self.neat.tell(self.task.evaluate(network, seed=self.neat.generation))
        self.seconds["ask"] += asked - begin
        self.seconds["evaluate"] += time.perf_counter() - asked


def workload(name: str) -> tuple[str, Supervised, int]:
    """The INI text, the task and the number of generations to warm up."""
    text = XOR_INI.read_text()
    if name.startswith("xor-"):
        size = int(name.removeprefix("xor-"))
        text = text.replace("pop_size              = 150", f"pop_size = {size}")
        return (
            text.replace("no_fitness_termination = False", "no_fitness_termination = True"),
            xor(),
            5,
        )
    changes = {
        "pop_size              = 150": f"pop_size = {int(name.removeprefix('medium-'))}",
        "no_fitness_termination = False": "no_fitness_termination = True",
        "num_inputs              = 2": "num_inputs = 8",
        "num_outputs             = 1": "num_outputs = 4",
        "num_hidden              = 0": "num_hidden = 46",
        "initial_connection      = full": "initial_connection = partial_nodirect 0.3624",
        "compatibility_threshold = 3.0": "compatibility_threshold = 6.0",
    }
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    rng = np.random.default_rng(3)
    return text, Supervised(rng.standard_normal((32, 8)), rng.random((32, 4))), 2


def compare(name: str, rounds: int) -> None:
    text, task, warm_up = workload(name)
    with tempfile.TemporaryDirectory() as folder:
        ini = Path(folder) / "config.ini"
        ini.write_text(text)
        ours = EvonetRun(Config.load(ini), task)
        theirs = NeatPythonRun(ini, task.x, task.y, task.best, seed=1)
    for _ in range(warm_up):
        ours.generation()
        theirs.generation()
    for run in (ours, theirs):
        run.seconds = dict.fromkeys(run.seconds, 0.0)
    spent: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(rounds):
        for who, run in (("theirs", theirs), ("ours", ours)):
            for _ in range(BLOCK):
                begin = time.perf_counter()
                run.generation()
                spent[who].append(time.perf_counter() - begin)
    rounds *= BLOCK
    us, them = (statistics.median(spent[who]) for who in ("ours", "theirs"))
    size = ours.config.neat.pop_size
    nodes, conns = (ours.neat.ask().sizes.mean(axis=0)).tolist()
    print(f"{name}: {size} genomes of {nodes:.1f} nodes, {conns:.1f} connections")
    print(f"  evonet      {us * 1e3:9.2f} ms  ({us / size * 1e6:.2f} us per genome)  ", end="")
    print(", ".join(f"{k} {v / rounds * 1e3:.2f}" for k, v in ours.seconds.items()))
    print(f"  neat-python {them * 1e3:9.1f} ms  ({them / size * 1e6:.0f} us per genome)  ", end="")
    print(", ".join(f"{k} {v / rounds * 1e3:.1f}" for k, v in theirs.seconds.items()))
    print(f"  {them / us:.0f}x", flush=True)


def scale(sizes: list[int], generations: int) -> None:
    base = 0.0
    for size in sizes:
        config = Config.from_dict({"neat": {"pop_size": size, "no_fitness_termination": True}})
        config = config.replace(**{"genome.num_inputs": 2, "genome.num_outputs": 1})
        run = EvonetRun(config, xor())
        rounds = []
        for _ in range(generations):
            begin = time.perf_counter()
            run.generation()
            rounds.append((time.perf_counter() - begin) / size)
        cost = statistics.median(rounds[3:])
        base = base or cost
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        conns = run.neat.state.population.sizes[:, 1].mean()
        print(
            f"{size:>9} genomes: {cost * 1e6:.2f} us per genome and generation "
            f"({cost / base:.2f}x), {len(run.neat.species)} species, {conns:.1f} connections, "
            f"peak memory {peak:.0f} MiB",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workloads", default="xor-1000,xor-10000,medium-1000")
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--generations", type=int, default=10)
    arguments = parser.parse_args()
    if arguments.scale:
        scale([int(s) for s in arguments.sizes.split(",")], arguments.generations)
        return
    for name in arguments.workloads.split(","):
        compare(name, arguments.rounds)


if __name__ == "__main__":
    main()
