"""Results as tables, and how numbers are written in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evonet.bench.comparison import SpeedComparison
from evonet.bench.growth import Growth, GrowthLine
from evonet.bench.limits import LIMITS, Limits
from evonet.bench.timing import Entry


@dataclass(frozen=True)
class ResultTable:
    """A table of text."""

    head: tuple[str, ...]  # [C]
    rows: tuple[tuple[str, ...], ...]  # [R][C]
    prose: tuple[bool, ...]  # [C] whether a column holds words, which are aligned left


def duration(seconds: float, write: Callable[[float], str] | None = None) -> str:
    """Writes a time in a suitable unit, with three digits or as a given function writes numbers."""
    write = write or digits
    for limit, scale, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if seconds < limit * 0.9995:
            return f"{write(seconds * scale)} {unit}"
    return f"{write(seconds)} s"


def digits(value: float) -> str:
    """Writes a number with three digits, or with all digits of the whole part."""
    if value == 0:
        return "0"
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"


def percent(share: float) -> str:
    """Writes a share as a percentage, with a suitable number of digits."""
    if share >= 0.0995:
        return f"{share:.0%}"
    return f"{share:.1%}" if share >= 0.000995 else "< 0.1%"


def short(size: float) -> str:
    """Writes a size for the axis of a chart: 1, 10, 1k, 1M."""
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if size >= limit:
            return f"{size / limit:.3g}{unit}"
    return f"{size:.3g}"


def comparison_table(comparison: SpeedComparison, limits: Mapping[str, float]) -> ResultTable:
    """Best, median, ratio and shares of the limits, for every contender."""
    names = comparison.shares(comparison.entries[0], limits)
    shown = [f"of {LIMITS[name][0]}" for name in names]
    rows = []
    for entry in comparison.entries:
        phases = ", ".join(f"{phase} {duration(spent)}" for phase, spent in entry.parts.items())
        rows.append(
            (
                entry.name,
                duration(entry.timing.best),
                duration(entry.timing.median),
                ratio_text(comparison, entry),
                *map(percent, comparison.shares(entry, limits).values()),
                "; ".join(part for part in (entry.note, phases) if part),
            )
        )
    prose = (True, *[False] * (3 + len(shown)), True)
    return ResultTable(("", "best", "median", "ratio", *shown, ""), tuple(rows), prose)


def ratio_text(comparison: SpeedComparison, entry: Entry) -> str:
    """How many times longer an entry takes than the first."""
    return "1×" if entry is comparison.entries[0] else f"{digits(comparison.ratio(entry))}×"


def growth_table(growth: Growth) -> ResultTable:
    """Medians at every size, and below them the exponents and where curves bend."""
    names = tuple(line.name for line in growth.lines)
    medians = [growth.medians(line) for line in growth.lines]
    rows = [(f"{x:,.0f}", *(duration(each[i]) for each in medians)) for i, x in enumerate(growth.x)]
    rows.append(("exponent", *(f"{growth.tail(line).exponent:.2f}" for line in growth.lines)))
    if any(growth.bends(line) for line in growth.lines):
        rows.append(("bends", *(_bends(growth, line) for line in growth.lines)))
    return ResultTable((growth.axis, *names), tuple(rows), (False,) * (1 + len(names)))


def _bends(growth: Growth, line: GrowthLine) -> str:
    """Merges neighbouring bends in one direction into ranges, with their slopes."""
    groups: list[list[float]] = []  # start, end, least and greatest slope
    for bend in growth.bends(line):
        flatter = bend.exponent < growth.expected
        last = groups[-1] if groups else None
        if last and last[1] == bend.begin and (last[3] < growth.expected) == flatter:
            last[1] = bend.end
            last[2], last[3] = min(last[2], bend.exponent), max(last[3], bend.exponent)
        else:
            groups.append([bend.begin, bend.end, bend.exponent, bend.exponent])
    return ", ".join(
        f"{low:.2f}{f' to {high:.2f}' if high - low >= 0.005 else ''} from {short(begin)} to "
        f"{short(end)}"
        for begin, end, low, high in groups
    )


def limits_table(limits: Limits) -> ResultTable:
    """The most that the machine can do."""
    best, median = limits.best(), limits.median()
    rows = []
    for name, (_, said, unit) in LIMITS.items():
        giga = f"G{unit.removeprefix('1')}"
        rows.append((said, *(f"{digits(rate[name] / 1e9)} {giga}" for rate in (best, median))))
    head = ("all threads together", "best", "median")
    return ResultTable(head, tuple(rows), (True, False, False))
