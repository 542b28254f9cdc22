"""Times radix networks of the Graph Challenge beside SciPy and PyTorch, one after the other.

    python -m benchmarks.layered [1024x120 ...] [--rows 60000] [--layers 12] [--only evonet]
    python -m benchmarks.layered 1024x120 --only categories

Rates are links times samples per second. SciPy and PyTorch run the first `--layers` layers on all
samples, with the bias and the clamp and without dropping samples; so does evonet, with all layers,
before it drops them. With `--only categories`, all categories are compared with SciPy's in float64,
row by row, and nothing is timed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from evonet.bench.limits import Limits
from evonet.genes.layers import Layer
from evonet.layered import LayeredNetwork, challenge_digits, radix_layers

TILE = 128  # samples whose categories SciPy finds at a time, so that they stay in the cache


def by_scipy(layers: list[Layer], x: Any, dtype: Any) -> tuple[float, Any]:
    """SciPy's CSR times a dense matrix of samples, [nodes, B]; seconds and outputs [B, O]."""
    import scipy.sparse

    matrices = [
        scipy.sparse.csr_matrix(
            (layer.weight.astype(dtype), layer.source, layer.start),
            (layer.num_nodes, layer.num_inputs),
        )
        for layer in layers
    ]
    y = np.ascontiguousarray(x.T, dtype)
    start = time.perf_counter()
    for layer, matrix in zip(layers, matrices, strict=True):
        y = matrix @ y
        y += layer.bias.astype(dtype)[:, None]
        np.clip(y, 0, 32, out=y)
    return time.perf_counter() - start, y.T


def by_torch(layers: list[Layer], x: Any, threads: int) -> float:
    """PyTorch's sparse CSR times a dense matrix; seconds."""
    import torch

    torch.set_num_threads(threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matrices = [
            torch.sparse_csr_tensor(
                torch.from_numpy(layer.start.astype(np.int32)),
                torch.from_numpy(layer.source),
                torch.from_numpy(layer.weight),
                (layer.num_nodes, layer.num_inputs),
            )
            for layer in layers
        ]
        biases = [torch.from_numpy(layer.bias)[:, None] for layer in layers]
        y = torch.from_numpy(np.ascontiguousarray(x.T, np.float32))
        (matrices[0] @ y[:, :16].contiguous()).sum()
        start = time.perf_counter()
        for matrix, bias in zip(matrices, biases, strict=True):
            y = (matrix @ y).add_(bias).clamp_(0, 32)
        return time.perf_counter() - start


def _one_process(job: tuple[int, int, Any]) -> None:
    width, depth, x = job
    by_scipy(list(radix_layers(width, depth)), x, np.float32)


def by_processes(width: int, depth: int, x: Any, processes: int) -> float:
    """SciPy in several processes, each with a part of the samples; seconds."""
    parts = np.array_split(x, processes)
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        pool.map(_one_process, [(width, 1, part[:16]) for part in parts])  # starts and imports
        start = time.perf_counter()
        pool.map(_one_process, [(width, depth, part) for part in parts])
        return time.perf_counter() - start


def lines(shape: str, options: argparse.Namespace, fma: float) -> Iterator[str]:
    """One table of rates, in G links x samples per second."""
    width, depth = (int(part) for part in shape.split("x"))
    x = challenge_digits(width, options.rows)
    start = time.perf_counter()
    networks = {1: LayeredNetwork(radix_layers(width, depth), threads=1)}
    schedule = networks[1].schedule
    compiled = time.perf_counter() - start
    networks[2] = LayeredNetwork(schedule, threads=2)
    links = schedule.num_edges
    yield f"radix {shape}: {links:,} links, {len(x):,} rows, compiled in {compiled:.1f} s"
    # Deep networks take long; without dropping, a part of the rows tells the rate.
    some = x[: max(4096, min(len(x), 240 * 10**9 // links))]
    for threads in (1, 2):
        networks[threads].run(x[:64])  # packs blocks
        rate = networks[threads].run(some, drop=False).executed_rate / 1e9
        share = 100 * rate / (fma * threads / 2)
        yield (
            f"  evonet, {threads} threads, all of {len(some):,} rows  {rate:8.2f}   "
            f"{share:.0f} % of the multiply-add peak"
        )
    dropped = networks[2].run(x)
    yield (
        f"  evonet, 2 threads, zero rows leave      {dropped.nominal_rate / 1e9:8.2f} nominal, "
        f"{dropped.executed_rate / 1e9:.2f} executed, {dropped.seconds:.2f} s, "
        f"{len(dropped.categories):,} categories"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    yield f"  peak memory {peak:.2f} GiB"
    if options.only == "evonet":
        return
    few = min(depth, options.layers)
    layers = list(radix_layers(width, few))
    work = links / depth * few * len(x) / 1e9
    alone, _ = by_scipy(layers, x, np.float32)
    yield f"  SciPy CSR, 1 thread                     {work / alone:8.2f}"
    yield f"  SciPy CSR, 2 processes                  {work / by_processes(width, few, x, 2):8.2f}"
    yield f"  PyTorch sparse CSR, 2 threads           {work / by_torch(layers, x, 2):8.2f}"


def categories(shape: str, rows: int) -> str:
    """Compares all categories with SciPy's in float64."""
    width, depth = (int(part) for part in shape.split("x"))
    x = challenge_digits(width, rows)
    found = LayeredNetwork(radix_layers(width, depth)).run(x).categories
    layers = list(radix_layers(width, depth))
    expected = []
    for begin in range(0, rows, TILE):
        _, y = by_scipy(layers, x[begin : begin + TILE], np.float64)
        expected.append(begin + np.flatnonzero(y.any(axis=1)))
    same = np.array_equal(found, np.concatenate(expected))
    return f"radix {shape}: {len(found):,} categories of {rows:,} rows; equal SciPy's: {same}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shapes", nargs="*", default=["1024x120"])
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--only", choices=["evonet", "categories"])
    options = parser.parse_args()
    if options.only == "categories":
        for shape in options.shapes:
            print(categories(shape, options.rows), flush=True)
        return
    limits = Limits()
    limits.measure(2)
    fma = limits.best()["fma"] / 1e9
    print(f"multiply-add peak of 2 threads: {fma:.1f} G/s")
    for shape in options.shapes:
        for line in lines(shape, options, fma):
            print(line, flush=True)


if __name__ == "__main__":
    main()
