"""The benchmarks by name, and how to run them."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from typing import Final

from evonet.bench.comparison import Findings, Settings
from evonet.bench.limits import Limits, describe_machine
from evonet.bench.result import Bench
from evonet.installation import require_native

# Each lives in a module of its name and is called run_NAME.
SUITES: Final = {
    "forward": "The forward pass: all genomes on all samples.",
    "generation": "Whole generations, by phase.",
    "rollout": "Whole episodes of control tasks.",
    "plugin": "neat-python's own genomes, packing included.",
    "scaling": "How cost grows with genomes, connections, levels, samples and threads.",
}
# Small enough to be touched in no time, where figures do not matter.
QUICK_BYTES: Final = 16 << 20


def run_suites(
    names: Sequence[str],
    settings: Settings,
    command: str,
    tell: Callable[[str, Findings, Limits], None] = lambda name, found, limits: None,
) -> Bench:
    """Runs benchmarks one after the other, and measures the machine before and after.

    Args:
        names: Of `SUITES`.
        settings: How.
        command: That was given, for the record.
        tell: Is called with the findings of each as soon as they are known.

    Raises:
        BackendError: The compiled extension is missing.
    """
    require_native()
    begin = time.perf_counter()
    limits = Limits()
    size = {"memory_bytes": QUICK_BYTES} if settings.quick else {}
    settings.say("what the machine can do")
    limits.measure(settings.threads, **size)
    found = Findings()
    for name in names:
        run = getattr(importlib.import_module(f"evonet.bench.{name}"), f"run_{name}")
        part: Findings = run(settings)
        tell(name, part, limits)
        found.comparisons += part.comparisons
        found.growths += part.growths
    limits.measure(settings.threads, **size)
    return Bench(
        command=command,
        quick=settings.quick,
        seconds=time.perf_counter() - begin,
        machine=describe_machine(settings.threads),
        limits=limits,
        peers=settings.peers.versions(),
        missing=tuple(settings.peers.missing.values()),
        findings=found,
    )
