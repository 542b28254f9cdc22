"""Times the neat-python plugin beside neat-python itself, in one run.

    python -m benchmarks.plugin [--rounds 5] [--genomes 1000] [--skip loop]

`evaluation`: a population of neat-python's genomes, scored on samples. Everything counts, from gene
objects to `genome.fitness`; the phases of `BatchEvaluator` are also shown separately. neat-python
and its ParallelEvaluator run a part of the population, and times are per genome.

`networks`: one network of a drop-in class beside neat-python's, created and activated.

`loop`: whole generations on the same config file, from each library's own first generation.

Rounds alternate between all contenders, so that a shared machine slows all of them alike; the
tables show medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import neat
import numpy as np

import evonet
from evonet.bench.generation import workload
from evonet.bench.peers.neat_python import NeatPythonRun, neat_genomes, score
from evonet.plugins.neat_python import BatchEvaluator, FeedForwardNetwork, evolve
from evonet.plugins.neat_python.compiling import compile_genomes
from evonet.plugins.neat_python.population_networks import subtract_squares

SIZE = {"num_inputs": 8, "num_outputs": 4, "num_nodes": 50, "num_connections": 200}
SAMPLES = 32
SHARE = 40  # genomes that neat-python evaluates in a round

rng = np.random.default_rng(2)
X = rng.standard_normal((SAMPLES, SIZE["num_inputs"]))
Y = rng.random((SAMPLES, SIZE["num_outputs"]))
ROWS = list(zip(X.tolist(), Y.tolist(), strict=True))


def eval_genome(genome: Any, config: Any) -> float:
    return score(neat.nn.FeedForwardNetwork.create(genome, config), ROWS, 0.0)


def eval_genomes(genomes: list[tuple[int, Any]], config: Any) -> None:
    for _, genome in genomes:
        genome.fitness = eval_genome(genome, config)


def seconds(function: Callable[[], object]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def exact_phases(genomes: list[tuple[int, Any]], config: Any) -> dict[str, float]:
    times = [time.perf_counter()]
    network = compile_genomes(genomes, config)
    times.append(time.perf_counter())
    answers = network(X)
    times.append(time.perf_counter())
    subtract_squares(0.0, answers, Y)
    times.append(time.perf_counter())
    names = ("read genes and order nodes", "run", "score")
    return dict(zip(names, np.diff(times).tolist(), strict=True))


def kernel_phases(genomes: list[tuple[int, Any]], config: Any) -> dict[str, float]:
    times = [time.perf_counter()]
    population = evonet.Population.from_neat(genomes, config)
    times.append(time.perf_counter())
    network = evonet.compile(population, on_cycle="zero")
    times.append(time.perf_counter())
    network.loss(X, Y)
    times.append(time.perf_counter())
    names = ("pack and check genes", "compile", "run and score")
    return dict(zip(names, np.diff(times).tolist(), strict=True))


def evaluation(rounds: int, count: int) -> None:
    population = evonet.Population.random(count, **SIZE, dtype="float64", seed=1)
    genomes, config = neat_genomes(population)
    part = genomes[:SHARE]
    exact = BatchEvaluator.from_data(X, Y)
    kernels = BatchEvaluator.from_data(X, Y, exact=False)
    one_by_one = BatchEvaluator.from_genomes(lambda genome, net: score(net, ROWS, 0.0))
    per_genome: dict[str, list[float]] = {}
    phases: dict[str, list[dict[str, float]]] = {"exact": [], "kernels": []}
    with neat.ParallelEvaluator(2, eval_genome) as parallel:
        contenders: dict[str, tuple[Callable[..., Any], list[Any]]] = {
            "neat-python": (eval_genomes, part),
            "ParallelEvaluator(2)": (parallel.evaluate, part),
            "from_genomes": (one_by_one, genomes[: 5 * SHARE]),
            "from_data": (exact, genomes),
            "from_data, exact=False": (kernels, genomes),
        }
        for function, chosen in contenders.values():
            function(chosen[:10], config)
        for _ in range(rounds):
            for name, (function, chosen) in contenders.items():
                spent = seconds(lambda f=function, chosen=chosen: f(chosen, config))
                per_genome.setdefault(name, []).append(spent / len(chosen))
            phases["exact"].append(exact_phases(genomes, config))
            phases["kernels"].append(kernel_phases(genomes, config))
    eval_genomes(part, config)
    theirs = [genome.fitness for _, genome in part]
    exact(part, config)
    same = [genome.fitness for _, genome in part] == theirs
    print(
        f"evaluation: {count} genomes, {SIZE['num_nodes']} nodes, {SIZE['num_connections']} "
        f"connections, {SAMPLES} samples; the same fitness to the last bit: {same}"
    )
    plain = statistics.median(per_genome["neat-python"])
    workers = statistics.median(per_genome["ParallelEvaluator(2)"])
    for name, found in per_genome.items():
        ours = statistics.median(found)
        print(
            f"  {name:24} {ours * 1e6:9.1f} us per genome  {plain / ours:7.1f}x neat-python"
            f"  {workers / ours:7.1f}x ParallelEvaluator(2)"
        )
    for name, found in phases.items():
        medians = {p: statistics.median(f[p] for f in found) / count * 1e6 for p in found[0]}
        print(f"  {name}: " + ", ".join(f"{p} {t:.1f}" for p, t in medians.items()) + " us")


def networks(rounds: int) -> None:
    print("networks: one at a time, one sample")
    for nodes, connections in ((3, 6), (10, 20), (50, 200)):
        population = evonet.Population.random(
            20,
            SIZE["num_inputs"] if nodes > 4 else 2,
            SIZE["num_outputs"] if nodes > 4 else 1,
            num_nodes=nodes,
            num_connections=connections,
            dtype="float64",
            seed=1,
        )
        pairs, config = neat_genomes(population)
        genomes = [genome for _, genome in pairs]
        row = X[0, : population.num_inputs].tolist()
        times: dict[str, list[float]] = {}
        for _ in range(rounds):
            for name, cls in (("theirs", neat.nn.FeedForwardNetwork), ("ours", FeedForwardNetwork)):
                begin = time.perf_counter()
                made = [cls.create(genome, config) for genome in genomes]
                created = time.perf_counter()
                for net in made * 20:
                    net.activate(row)
                done = time.perf_counter()
                times.setdefault(f"create {name}", []).append((created - begin) / 20)
                times.setdefault(f"activate {name}", []).append((done - created) / 400)
        median = {name: statistics.median(found) * 1e6 for name, found in times.items()}
        shown = []
        for what in ("create", "activate"):
            theirs, ours = median[f"{what} theirs"], median[f"{what} ours"]
            shown.append(f"{what} {theirs:8.1f} -> {ours:6.2f} us ({theirs / ours:.0f}x)")
        print(f"  {nodes:3} nodes, {connections:3} connections: " + ", ".join(shown))


def loop(rounds: int) -> None:
    print("loop: whole generations on the same config file")
    for name in ("xor-1000", "medium-1000"):
        with workload(name) as (ini, task, warm_up):
            theirs = NeatPythonRun(ini, task.x, task.y, task.best, seed=1)
            for _ in range(warm_up):
                theirs.generation()
            ticks: list[float] = []
            spent = [seconds(theirs.generation) for _ in range(rounds)]
            evaluator = BatchEvaluator.from_data(task.x, task.y, best=task.best)
            evolve(
                ini,
                evaluator,
                warm_up + 10 * rounds + 1,
                seed=1,
                callbacks=[lambda record, ticks=ticks: ticks.append(time.perf_counter())],
            )
        ours = statistics.median(np.diff(ticks[warm_up:]).tolist())
        them = statistics.median(spent)
        print(f"  {name:12} {them * 1e3:9.1f} -> {ours * 1e3:7.2f} ms ({them / ours:.0f}x)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--genomes", type=int, default=1000)
    parser.add_argument("--skip", default="", help="evaluation, networks or loop, by commas")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"evonet {evonet.__version__}, neat-python {neat.__version__}, "
        f"Python {sys.version.split()[0]}"
    )
    skipped = arguments.skip.split(",")
    if "evaluation" not in skipped:
        evaluation(arguments.rounds, arguments.genomes)
    if "networks" not in skipped:
        networks(arguments.rounds)
    if "loop" not in skipped:
        loop(arguments.rounds)


if __name__ == "__main__":
    main()
