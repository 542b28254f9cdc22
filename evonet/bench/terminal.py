"""Results as plain text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evonet.bench.claims import check_claims, claims_table
from evonet.bench.comparison import Findings
from evonet.bench.result import Bench
from evonet.bench.tables import as_text, comparison_table, growth_table, limits_table


def findings_text(found: Findings, limits: Mapping[str, float]) -> Iterator[str]:
    """Paragraphs about one benchmark's results.

    Args:
        found: The results.
        limits: The most that the machine can do per second.
    """
    for comparison in found.comparisons:
        yield (
            f"{comparison.title}; time for {comparison.unit}\n"
            f"{as_text(comparison_table(comparison, limits))}"
        )
    for growth in found.growths:
        yield (
            f"{growth.title}; time for {growth.unit}\n{as_text(growth_table(growth))}\n"
            f"expected exponent {growth.expected:g}. {' '.join(growth.reasons())}".rstrip()
        )


def closing_text(bench: Bench) -> Iterator[str]:
    """Paragraphs about the run as a whole."""
    yield as_text(limits_table(bench.limits))
    checked = check_claims(bench)
    if checked:
        yield f"figures that the documentation quotes\n{as_text(claims_table(checked))}"
    yield "\n".join([about(bench), *bench.missing])
    if bench.quick:
        yield "These figures mean nothing: --quick makes everything small, to check that it works."


def about(bench: Bench) -> str:
    """One line: versions, processor, threads."""
    machine = bench.machine
    peers = "".join(f", {name} {version}" for name, version in bench.peers.items())
    threads = "1 thread" if machine.threads == 1 else f"{machine.threads} threads"
    return (
        f"evonet {machine.evonet} ({machine.simd}, {threads}){peers}, NumPy {machine.numpy}, "
        f"Python {machine.python}, {machine.system}, {machine.processor}; {bench.seconds:.0f} s"
    )
