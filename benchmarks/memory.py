"""Times networks with memory beside neat-python's, alternately in one run.

    python -m benchmarks.memory

50 nodes, 200 connections, 32 samples. neat-python has one state per network object, so each of its
networks exists 32 times there; making them is not counted.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import neat
import neat.ctrnn
import numpy as np

import evonet
from evonet.bench.peers.neat_python import neat_genomes

GENOMES, INPUTS, OUTPUTS, SAMPLES = 1000, 10, 5, 32
THEIR_GENOMES = 4
ROUNDS = 5


def seconds(work: Callable[[], object], least: float = 0.2) -> float:
    """Seconds of one call, measured over as many calls as take a while."""
    count = 1
    while True:
        begin = time.perf_counter()
        for _ in range(count):
            work()
        spent = time.perf_counter() - begin
        if spent >= least:
            return spent / count
        count *= 2


def main() -> None:
    population = evonet.Population.random(
        GENOMES, INPUTS, OUTPUTS, num_nodes=50, num_connections=200, feed_forward=False, seed=1
    )
    pairs, config = neat_genomes(population[:THEIR_GENOMES].astype(np.float64))
    theirs = [genome for _, genome in pairs]
    x = np.random.default_rng(0).normal(size=(SAMPLES, INPUTS))
    rows = x.tolist()
    for kind, make, call in (
        ("recurrent", neat.nn.RecurrentNetwork, lambda net, row: net.activate(row)),
        ("ctrnn", neat.ctrnn.CTRNN, lambda net, row: net.advance(row, 0.01, 0.01)),
    ):
        nets = [[make.create(g, config) for _ in rows] for g in theirs]

        def step_theirs(nets: Any = nets, call: Any = call) -> None:
            for own in nets:
                for net, row in zip(own, rows, strict=True):
                    call(net, row)

        for dtype in (np.float32, np.float64):
            network = evonet.compile(population, kind, dtype=dtype)  # type: ignore[arg-type]
            samples = x.astype(dtype)
            network(samples)
            times = [
                (
                    seconds(lambda network=network, samples=samples: network(samples)) / GENOMES,
                    seconds(step_theirs) / THEIR_GENOMES,
                )
                for _ in range(ROUNDS)
            ]
            ours, other = (min(column) for column in zip(*times, strict=True))
            ratio = statistics.median(b / a for a, b in times)
            print(
                f"{kind:10} {np.dtype(dtype)!s:8} {1e9 * ours / SAMPLES:7.1f} ns per network and "
                f"step, neat-python {1e6 * other / SAMPLES:6.1f} us: {other / ours:6.0f}x best, "
                f"{ratio:6.0f}x median",
                flush=True,
            )


if __name__ == "__main__":
    main()
