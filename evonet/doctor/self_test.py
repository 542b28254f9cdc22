"""A self-test of about a second: compares and measures the backends that work here."""

from __future__ import annotations

from collections.abc import Iterator

import evonet
from evonet.backends.cuda import discovery
from evonet.definitions.backends import BackendName
from evonet.doctor.comparisons import compare, mixed_population, random_samples
from evonet.doctor.findings import Finding
from evonet.doctor.speed import Load
from evonet.errors import EvonetError

SECONDS = 0.3  # per backend
LOAD = Load(1000, 50, 200, 32)


def look_at_results() -> Iterator[Finding]:
    """Compares every backend with the reference, and measures it."""
    population = mixed_population(40, 16, 48, pins=(4, 2))
    x = random_samples(population, 9)
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
                yield Finding("self-test", "fault", mismatch, fix)
            else:
                rate = LOAD.links_per_second(backend, SECONDS)
                text = f"{backend} has the bits of the reference; {rate / 1e9:.2f} G links/s"
                yield Finding("self-test", "ok", text)
        except EvonetError as error:
            yield Finding("self-test", "fault", f"{backend}: {error}")


def _backends() -> list[BackendName]:
    from evonet.installation import load_native

    found: list[BackendName] = [] if load_native() is None else ["cpu"]
    try:
        discovery.usable_devices()
        found.append("cuda")
    except EvonetError:
        pass
    return found
