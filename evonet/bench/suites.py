"""The benchmarks by name, and how to run them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from evonet.bench.comparison import BenchOptions, Findings
from evonet.bench.forward import run_forward
from evonet.bench.generation import run_generation
from evonet.bench.limits import Limits, describe_machine
from evonet.bench.plugin import run_plugin
from evonet.bench.result import Bench
from evonet.bench.rollout import run_rollout
from evonet.bench.scaling import run_scaling


class Suite(NamedTuple):
    """A benchmark: what it measures, and the function that does."""

    title: str
    run: Callable[[BenchOptions], Findings]


SUITES: Final = {
    "forward": Suite("The forward pass: all genomes on all samples.", run_forward),
    "generation": Suite("Whole generations, by phase.", run_generation),
    "rollout": Suite("Whole episodes of control tasks.", run_rollout),
    "plugin": Suite("neat-python's own genomes, packing included.", run_plugin),
    "scaling": Suite(
        "How cost grows with genomes, connections, levels, samples and threads.", run_scaling
    ),
}
# Read in no time, where figures do not matter.
QUICK_BYTES: Final = 16 << 20


def run_suites(
    names: Sequence[str],
    options: BenchOptions,
    command: str,
    show: Callable[[Findings, Limits], None] = lambda found, limits: None,
) -> Bench:
    """Runs benchmarks one after the other, and measures the machine before and after.

    Args:
        names: Names of `SUITES`.
        options: How they run.
        command: The command that was given, for the record.
        show: Is called with the findings of each as soon as they are known.

    Raises:
        BackendError: The compiled extension is missing.
    """
    start = time.perf_counter()
    machine, limits = describe_machine(options.threads), Limits()
    size = {"memory_bytes": QUICK_BYTES} if options.quick else {}
    options.say("what the machine can do")
    limits.measure(options.threads, **size)
    found = {}
    for name in names:
        found[name] = SUITES[name].run(options)
        show(found[name], limits)
    limits.measure(options.threads, **size)
    return Bench(
        command=command,
        quick=options.quick,
        seconds=time.perf_counter() - start,
        machine=machine,
        limits=limits,
        peers=options.peers.versions(),
        missing=tuple(options.peers.missing.values()),
        findings=found,
    )
