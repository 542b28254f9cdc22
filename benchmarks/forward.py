"""The forward pass beside neat-python's, on the same genomes, in one run.

    python benchmarks/forward.py [--rounds 7] [--threads 0]

Each round times evonet and neat-python alternately, so that both meet the same
weather on a shared machine; the table shows the best and the median round of
each and the ratio of the medians. neat-python runs a sample of the genomes,
long enough to be timed, and is scaled per activation.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import tomllib
import warnings
from collections.abc import Callable

import neat
import numpy as np

import evonet
from evonet.backends.cpu import CpuBackend
from evonet.native import require_native
from evonet.resources import resource_folder

NEAT_CONFIG = resource_folder("configs") / "forward-neat.ini"


def seconds_per_call(function: Callable[[], object], at_least: float) -> float:
    calls, spent = 0, 0.0
    while spent < at_least:
        begin = time.perf_counter()
        function()
        spent += time.perf_counter() - begin
        calls += 1
    return spent / calls


def neat_networks(population: evonet.Population, count: int) -> list[neat.nn.FeedForwardNetwork]:
    config = neat.Config(
        neat.DefaultGenome,
        neat.DefaultReproduction,
        neat.DefaultSpeciesSet,
        neat.DefaultStagnation,
        str(NEAT_CONFIG),
    )
    config.genome_config.input_keys = [-1 - i for i in range(population.num_inputs)]
    config.genome_config.output_keys = list(range(population.num_outputs))
    genomes = population[:count].to_neat(config)
    return [neat.nn.FeedForwardNetwork.create(genome, config) for _, genome in genomes]


def workload(
    name: str, sizes: dict[str, int], activation: str, rounds: int, threads: int
) -> tuple[float, float]:
    population = evonet.Population.random(
        sizes["genomes"],
        sizes["inputs"],
        sizes["outputs"],
        num_nodes=sizes["nodes"],
        num_connections=sizes["connections"],
        activations=(activation,),
        seed=1,
    )
    network = evonet.compile(population, threads=threads)
    samples = sizes["samples"]
    x = np.random.default_rng(2).standard_normal((samples, sizes["inputs"])).astype(np.float32)
    nets = neat_networks(population, 20)
    rows = x[:8].tolist()

    def activate_all() -> None:
        for net in nets:
            for row in rows:
                net.activate(row)

    network(x)
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(seconds_per_call(activate_all, 0.1) / (len(nets) * len(rows)))
        ours.append(seconds_per_call(lambda: network(x), 0.1) / (sizes["genomes"] * samples))
    ratio = statistics.median(theirs) / statistics.median(ours)
    rate = network.schedule.num_edges / sizes["genomes"] / statistics.median(ours)
    live = network.schedule.num_edges / population.num_connections
    print(
        f"{name:8} {activation:8} P={sizes['genomes']:<5} B={samples:<4} "
        f"{sizes['nodes']}/{sizes['connections']:<5} {live:5.0%} live | "
        f"evonet {min(ours) * 1e9:8.2f} {statistics.median(ours) * 1e9:8.2f} ns | "
        f"neat-python {min(theirs) * 1e6:7.1f} {statistics.median(theirs) * 1e6:7.1f} us | "
        f"{ratio:7.0f}x | {rate / 1e9:6.2f} G links/s"
    )
    return ratio, rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    native = require_native()
    threads = arguments.threads or native.available_threads()
    level = CpuBackend().simd_level()
    print(
        f"evonet {evonet.__version__}, {level}, {threads} threads; "
        f"neat-python {neat.__version__}, Python {sys.version.split()[0]}, one thread"
    )
    print("per activation of one genome on one sample: best, median; ratio of medians")
    sizes = tomllib.loads((resource_folder("configs") / "forward.toml").read_text())
    for name in sizes:
        workload(name, sizes[name], "sigmoid", arguments.rounds, arguments.threads)
    _, rate = workload("large", sizes["large"], "relu", arguments.rounds, arguments.threads)
    peak = max(native.fma_peak(level, threads) for _ in range(5))
    print(
        f"measured FMA peak on {threads} threads: {peak / 1e9:.1f} G/s; "
        f"large with relu runs at {rate / peak:.0%} of it"
    )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
