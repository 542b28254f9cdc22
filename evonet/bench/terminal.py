"""Results as plain text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evonet.bench.comparison import Findings
from evonet.bench.result import Bench
from evonet.bench.tables import ResultTable, comparison_table, growth_table, limits_table
from evonet.messages import counted


def as_text(table: ResultTable) -> str:
    """A table with columns padded with spaces."""
    lines = [table.head, *table.rows]
    widths = [max(len(line[c]) for line in lines) for c in range(len(table.head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if prose else cell.rjust(width)
            for cell, width, prose in zip(line, widths, table.prose, strict=True)
        ).rstrip()
        for line in lines
    )


def findings_text(found: Findings, limits: Mapping[str, float]) -> Iterator[str]:
    """Paragraphs about one benchmark's results."""
    for comparison in found.comparisons:
        table = comparison_table(comparison, limits)
        yield f"{comparison.title}; time for {comparison.unit}\n{as_text(table)}"
    for growth in found.growths:
        yield (
            f"{growth.title}; time for {growth.unit}\n{as_text(growth_table(growth))}\n"
            f"expected exponent {growth.expected:g}. {' '.join(growth.reasons())}".rstrip()
        )


def closing_text(bench: Bench) -> Iterator[str]:
    """Paragraphs about the run as a whole."""
    yield as_text(limits_table(bench.limits))
    yield "\n".join([about(bench), *bench.missing])
    if bench.quick:
        yield "These figures mean nothing: --quick makes everything small, to check that it works."


def about(bench: Bench) -> str:
    """One line: versions, processor, threads."""
    machine = bench.machine
    peers = "".join(f", {name} {version}" for name, version in bench.peers.items())
    return (
        f"evonet {machine.evonet} ({machine.simd}, {counted(machine.threads, 'thread')}){peers}, "
        f"NumPy {machine.numpy}, Python {machine.python}, {machine.system}, {machine.processor}; "
        f"{bench.seconds:.0f} s"
    )
