"""A self-test of about a second: compares and measures the backends that work here."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np

import evonet
from evonet.backends.cuda import discovery
from evonet.doctor.comparisons import compare
from evonet.doctor.findings import Finding
from evonet.errors import EvonetError
from evonet.functions.registry import ACTIVATIONS, AGGREGATIONS

Name: TypeAlias = Literal["cpu", "cuda"]

SECONDS = 0.3  # per backend


def look_at_results() -> Iterator[Finding]:
    """Compares every backend with the reference, and measures it."""
    population = evonet.Population.random(
        40,
        4,
        2,
        num_nodes=16,
        num_connections=48,
        activations=[function.name for function in ACTIVATIONS],
        aggregations=[function.name for function in AGGREGATIONS],
        seed=1,
    )
    x = np.random.default_rng(1).normal(size=(9, 4)).astype(np.float32)
    expected = evonet.compile(population, backend="reference")(x)
    backends = _backends()
    if not backends:
        yield Finding("self-test", "absent", "only the reference works here: nothing to compare")
    for backend in backends:
        try:
            found = evonet.compile(population, backend=backend)(x)
            mismatch = compare(f"{backend} and reference", found, expected)
            if mismatch:
                fix = "report it, with this text" if backend == "cpu" else "use backend='cpu'"
                yield Finding("self-test", "fault", str(mismatch), fix)
            else:
                rate = measure(backend)
                text = f"{backend} has the bits of the reference; {rate / 1e9:.2f} G links/s"
                yield Finding("self-test", "ok", text)
        except EvonetError as error:
            yield Finding("self-test", "fault", f"{backend}: {error}")


def _backends() -> list[Name]:
    from evonet.installation import load_native

    found: list[Name] = [] if load_native() is None else ["cpu"]
    try:
        discovery.usable_devices()
        found.append("cuda")
    except EvonetError:
        pass
    return found


def measure(backend: Name) -> float:
    """Links times samples per second, with 1,000 genomes of 50 nodes and 200 links."""
    population = evonet.Population.random(
        1000, 8, 4, num_nodes=50, num_connections=200, activations=("tanh",), seed=1
    )
    network = evonet.compile(population, backend=backend)
    x = np.random.default_rng(1).normal(size=(32, 8)).astype(np.float32)
    network(x)
    calls, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < SECONDS:
        network(x)
        calls += 1
    seconds = time.perf_counter() - begun
    return network.schedule.num_edges * len(x) * calls / seconds
