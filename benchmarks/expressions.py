"""Times custom functions beside built-in ones, in the same networks, in one run.

    python -m benchmarks.expressions [--rounds 7] [--threads 1]

Networks are equal except for the function. Each round times both alternately, so that a shared
machine slows both alike; the table shows the median rates and their ratio. The exit code is 1 if a
custom function has less than a fifth of the rate of the built-in one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import evonet

LEAST = 1 / 5
SECONDS = 0.05  # of one measurement


class Pair(NamedTuple):
    """What is compared.

    Attributes:
        kind: "activation" or "aggregation".
        builtin: Name of a built-in function.
        text: A custom function that does about as much.
    """

    kind: str
    builtin: str
    text: str


PAIRS = (
    Pair("activation", "sigmoid", "x / (1 + exp(-x))"),
    Pair("activation", "sigmoid", "sigmoid(5 * x)"),
    Pair("activation", "tanh", "tanh(2.5 * x)"),
    Pair("activation", "sin", "sin(5 * x)"),
    Pair("activation", "gauss", "exp(-5 * clip(x, -3.4, 3.4) ** 2)"),
    Pair("activation", "softplus", "0.2 * log(1 + exp(5 * x))"),
    Pair("activation", "elu", "x if x > 0 else exp(x) - 1"),
    Pair("activation", "relu", "max(0, x)"),
    Pair("activation", "lelu", "x if x > 0 else 0.005 * x"),
    Pair("activation", "identity", "x"),
    Pair("aggregation", "product", "product(x)"),
    Pair("aggregation", "max", "max(x) - min(x)"),
    Pair("aggregation", "sum", "sum(x)"),
    Pair("aggregation", "mean", "sqrt(sum(x * x))"),
    Pair("aggregation", "median", "sum((x - mean(x)) ** 2) / count"),
    Pair("aggregation", "median", "max(x) + log(sum(exp(x - max(x))))"),
)


def rate_of(work: Callable[[], object]) -> float:
    """Calls per second."""
    calls, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < SECONDS:
        work()
        calls += 1
    return calls / (time.perf_counter() - begun)


def network(kind: str, name: str, threads: int, num_nodes: int, links: int) -> evonet.Network:
    functions = {
        "activations": (name if kind == "activation" else "identity",),
        "aggregations": (name if kind == "aggregation" else "sum",),
    }
    population = evonet.Population.random(
        100, 8, 4, num_nodes=num_nodes, num_connections=links, seed=1, **functions
    )
    return evonet.compile(population, backend="cpu", threads=threads)


def compare(one: Pair, samples: int, rounds: int, threads: int, size: tuple[int, int]) -> float:
    """Prints a line, and returns the ratio of rates."""
    register = (
        evonet.register_activation if one.kind == "activation" else evonet.register_aggregation
    )
    name = f"{one.kind}{PAIRS.index(one)}"
    register(name, one.text)
    own, builtin = (network(one.kind, each, threads, *size) for each in (name, one.builtin))
    x = np.random.default_rng(1).normal(size=(samples, 8)).astype(np.float32)
    rates: list[tuple[float, float]] = []
    for _ in range(rounds + 1):
        rates.append((rate_of(lambda: own(x)), rate_of(lambda: builtin(x))))
    ratio = statistics.median(a / b for a, b in rates[1:])
    unit = own.schedule.num_nodes * samples / 1e6
    mine, theirs = (statistics.median(pair[i] for pair in rates[1:]) * unit for i in (0, 1))
    print(
        f"{one.text:36} {mine:8.1f}   {one.builtin:10} {theirs:8.1f}   {samples:5} samples"
        f"   {ratio:5.2f}"
    )
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    print("custom, million nodes/s              built-in, million nodes/s              ratio")
    ratios = [
        compare(one, samples, options.rounds, options.threads, (50, 200))
        for samples in (128, 16, 1)
        for one in PAIRS
    ]
    print(f"lowest ratio {min(ratios):.2f}, allowed {LEAST:.2f}")
    sys.exit(0 if min(ratios) >= LEAST else 1)


if __name__ == "__main__":
    main()
