"""Times two checkouts of evonet in turns, and prints the median ratio of each workload.

    python -m benchmarks.versions OLD NEW [--pairs 15] [--threads 2] [--only forward]

OLD and NEW are checkouts in which evonet was built: the extension lies in evonet/, or in a folder
of build/. Each runs in a process of its own; they take turns, so that a busy machine slows both.
Only names that every version has are used.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

# The shortest time that is measured: a workload is repeated until it takes as long.
LEAST_SECONDS = 0.15


def workloads(threads: int) -> dict[str, Callable[[], Callable[[], object]]]:
    """What is timed: each entry prepares a call."""
    import numpy as np

    import evonet
    from evonet.tasks import xor

    options: dict[str, Any] = {"backend": "cpu", "threads": threads}

    def population(nodes: int, links: int, size: int, dtype: str = "float32") -> evonet.Population:
        return evonet.Population.random(
            size, 8, 4, num_nodes=nodes, num_connections=links, seed=1, dtype=dtype
        )

    def forward(genomes: evonet.Population, samples: int, **kind: Any) -> Callable[[], object]:
        network = evonet.compile(genomes, **options, **kind)
        x = np.random.default_rng(0).standard_normal((samples, 8)).astype(genomes.dtype)
        return lambda: network(x)

    def rollout() -> Callable[[], object]:
        genomes = evonet.Population.random(1000, 4, 2, num_nodes=8, num_connections=20, seed=2)
        network = evonet.compile(genomes, **options)
        return lambda: network.rollout("cartpole", episodes=5, seed=1)

    def generations(size: int) -> Callable[[], object]:
        changes = {"neat.pop_size": size, "neat.fitness_threshold": 1e9}
        config = evonet.Config.from_dict({"task": {"name": "xor"}}).replace(changes)
        return lambda: evonet.evolve(xor(), config, generations=10, seed=3, **options)

    def breeding(size: int) -> Callable[[], object]:
        config = evonet.Config.from_dict({"task": {"name": "xor"}}).replace({"neat.pop_size": size})
        algorithm = evonet.NEAT(config, seed=3, num_inputs=2, num_outputs=1)
        rng = np.random.default_rng(0)

        def generation() -> None:
            algorithm.ask()
            algorithm.tell(rng.random(size))

        for _ in range(5):
            generation()  # before there is something to breed, and some species
        return generation

    def compiling() -> Callable[[], object]:
        genomes = population(50, 200, 1000)
        return lambda: evonet.compile(genomes, **options)

    def plugin(**how: bool) -> Callable[[], object]:
        from evonet.bench.peers.neat_python import neat_genomes
        from evonet.plugins.neat_python import BatchEvaluator

        genomes, config = neat_genomes(population(50, 200, 200, "float64"))
        rng = np.random.default_rng(0)
        x, y = rng.standard_normal((32, 8)), rng.random((32, 4))
        evaluator = BatchEvaluator.from_data(x, y, **how)
        return lambda: evaluator(genomes, config)

    return {
        "forward, 10/30, 32 samples": lambda: forward(population(10, 30, 1000), 32),
        "forward, 50/200, 32 samples": lambda: forward(population(50, 200, 1000), 32),
        "forward, 50/200, 256 samples": lambda: forward(population(50, 200, 1000), 256),
        "forward, 200/2000, 256 samples": lambda: forward(population(200, 2000, 100), 256),
        "forward, 10/30, one sample": lambda: forward(population(10, 30, 1000), 1),
        "forward, 50/200, one sample": lambda: forward(population(50, 200, 1000), 1),
        "forward, 200/2000, one sample": lambda: forward(population(200, 2000, 1000), 1),
        "forward, float64, 10/30": lambda: forward(population(10, 30, 1000, "float64"), 32),
        "forward, float64, 50/200": lambda: forward(population(50, 200, 1000, "float64"), 32),
        "forward, float64, 200/2000": lambda: forward(population(200, 2000, 100, "float64"), 256),
        "recurrent step": lambda: forward(population(50, 200, 200), 32, kind="recurrent"),
        "compile": compiling,
        "ten generations of 1,000": lambda: generations(1000),
        "ten generations of 10,000": lambda: generations(10000),
        "ask and tell, a million": lambda: breeding(1_000_000),
        "rollout, cartpole": rollout,
        "plugin, neat-python's bits": plugin,
        "plugin, exact=False": lambda: plugin(exact=False),
    }


class _Extension:
    """Finds the extension that a checkout built, wherever it lies in it."""

    def __init__(self, folder: Path) -> None:
        built = [*folder.glob("evonet/_native*.so"), *folder.glob("build/*/_native*.so")]
        if not built:
            raise SystemExit(f"{folder}: no _native*.so in evonet/ or build/*/. Build it first.")
        self.path = max(built, key=lambda path: path.stat().st_mtime)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != "evonet._native":
            return None
        return importlib.util.spec_from_file_location(name, self.path)


def _import_from(folder: Path) -> None:
    """Makes `import evonet` find a checkout.

    An editable install puts a finder of its own first, and would answer for every checkout with the
    one that is installed.
    """
    ours = [f for f in sys.meta_path if f.__module__.startswith(("_frozen_importlib", "importlib"))]
    sys.meta_path[:] = [_Extension(folder), *ours]  # type: ignore[list-item]
    sys.path.insert(0, str(folder))
    import evonet

    found = Path(evonet.__file__ or "").resolve()
    if folder not in found.parents:
        raise SystemExit(f"evonet was imported from {found}, and not from {folder}.")


def work(folder: Path, threads: int) -> None:
    """Answers each name on the standard input with the seconds that one call took."""
    _import_from(folder)
    known, calls = workloads(threads), {}
    for line in sys.stdin:
        name = line.rstrip("\n")
        if name not in calls:
            call, count = known[name](), 1
            call()
            while _seconds(call, count) < LEAST_SECONDS:
                count *= 2
            calls[name] = call, count
        call, count = calls[name]
        print(json.dumps(_seconds(call, count) / count), flush=True)


def _seconds(call: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


def _start(folder: Path, threads: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, __file__, str(folder.resolve()), "--work", "--threads", str(threads)],
        env={**os.environ, "EVONET_REQUIRE_NATIVE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _ask(worker: subprocess.Popen[str], name: str) -> float:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(name + "\n")
    worker.stdin.flush()
    answer = worker.stdout.readline()
    if not answer:
        raise SystemExit(f"{name}: the worker ended.")
    return float(json.loads(answer))


def main() -> None:
    parser = argparse.ArgumentParser(description="Times two checkouts of evonet in turns.")
    parser.add_argument("folders", nargs="*", type=Path, help="OLD and NEW")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="a part of the names to time")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.folders[0], options.threads)
        return
    if len(options.folders) != 2:
        parser.error("two folders are needed, OLD and NEW")
    workers = [_start(folder, options.threads) for folder in options.folders]
    print(f"{'workload':32} {'new / old':>9} {'quartiles':>15} {'old, ms':>9} {'new, ms':>9}")
    names = [name for name in workloads(options.threads) if options.only in name]
    for name in names:
        for worker in workers:
            _ask(worker, name)
        ratios, old, new = [], [], []
        for pair in range(options.pairs):
            times = {i: _ask(workers[i], name) for i in ((0, 1) if pair % 2 == 0 else (1, 0))}
            ratios.append(times[1] / times[0])
            old.append(1e3 * times[0])
            new.append(1e3 * times[1])
        low, middle, high = statistics.quantiles(ratios, n=4)
        each = f"{statistics.median(old):9.3f} {statistics.median(new):9.3f}"
        print(f"{name:32} {middle:9.3f} {low:7.3f} {high:7.3f} {each}", flush=True)
    for worker in workers:
        worker.communicate()


if __name__ == "__main__":
    main()
