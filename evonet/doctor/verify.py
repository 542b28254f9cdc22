"""A thorough check of the GPUs: every comparison, then throughput beside the processor's."""

from __future__ import annotations

import time
from collections.abc import Iterator

from evonet.backends.cuda import discovery
from evonet.doctor.comparisons import COMPARISONS, BitComparison
from evonet.doctor.findings import Finding
from evonet.doctor.speed import LOADS, Load
from evonet.errors import DeviceError, EvonetError


def verify(loads: tuple[Load, ...] = LOADS, seconds: float = 0.5) -> Iterator[Finding]:
    """Runs every comparison, then measures throughput.

    Args:
        loads: The measurements.
        seconds: The least time of each.
    """
    try:
        discovery.usable_devices()
    except DeviceError as error:
        yield Finding("verify", "fault", str(error))
        return
    yield from map(_verify_bits, COMPARISONS)
    for load in loads:
        try:
            yield Finding("speed", "ok", load.measure(seconds))
        except EvonetError as error:
            yield Finding("speed", "fault", f"{load}: {error}")


def _verify_bits(comparison: BitComparison) -> Finding:
    begun = time.perf_counter()
    try:
        total, mismatches = comparison.run()
    except EvonetError as error:
        return Finding("equal bits", "fault", f"{comparison.name}: {error}")
    if mismatches:
        found = "\n".join([comparison.name, *mismatches[:5]])
        return Finding("equal bits", "fault", found, "report it, with this text")
    took = time.perf_counter() - begun
    return Finding("equal bits", "ok", f"{comparison.name}: {total:,} numbers, {took:.1f} s")
