"""Charts of results: the length of bars, and growth in log-log plots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from evonet.bench.comparison import SpeedComparison
from evonet.bench.growth import Growth
from evonet.bench.tables import duration, short
from evonet.bench.timing import Entry
from evonet.report.markup import horizontal, label, path, text
from evonet.report.scale import Scale

WIDTH: Final = 560
HEIGHT: Final = 320
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 14, 44
HUES: Final = 5


def bar_length(comparison: SpeedComparison, entry: Entry) -> float:
    """The length of an entry's bar, from 0 to 1: by the logarithm of its time."""
    medians = [math.log10(each.timing.median) for each in comparison.entries]
    low, high = min(medians), max(medians)
    # The shortest bar is visible too, and noise alone does not make bars differ.
    return Scale(low - max(0.12 * (high - low), 0.3), max(high, low + 0.3), 0, 1).at(
        math.log10(entry.timing.median)
    )


def growth_height(growth: Growth) -> int:
    """The height of `draw_growth`, with two keys per row below the chart."""
    return HEIGHT + 20 * -(-len(growth.lines) // 2)


def draw_growth(growth: Growth) -> str:
    """Draws lines in a log-log plot, each with its fitted power law dashed."""
    medians = [growth.medians(line) for line in growth.lines]
    low, high = min(map(min, medians)), max(map(max, medians))
    x = Scale(math.log10(growth.x[0]), math.log10(growth.x[-1]), LEFT, WIDTH - RIGHT)
    margin = 0.06 * max(1.0, math.log10(high / low))
    y = Scale(math.log10(low) - margin, math.log10(high) + margin, HEIGHT - BOTTOM, TOP)
    parts = [f'<svg viewBox="0 0 {WIDTH} {growth_height(growth)}" role="img">']
    parts += _axes(growth, x, y)
    across = np.log10(np.asarray(growth.x, np.float64))
    for number, (line, each) in enumerate(zip(growth.lines, medians, strict=True)):
        hue = f"c{number % HUES + 1}"
        tail = growth.tail(line)
        law = np.array([math.log10(tail.at(value)) for value in growth.x])
        inside = (law >= y.low) & (law <= y.high)
        if inside.sum() > 1:
            drawn = path(x(across[inside]), y(law[inside]))
            parts.append(f'<path class="line dashed {hue}" d="{drawn}"/>')
        places = y(np.log10(each))
        parts.append(f'<path class="line {hue}" d="{path(x(across), places)}"/>')
        for size, place, seconds in zip(growth.x, places.tolist(), each, strict=True):
            parts.append(
                f'<circle class="dot {hue}" cx="{x.at(math.log10(size)):.1f}" cy="{place:.1f}" '
                f'r="3.2"><title>{text(f"{line.name}, {size:,.0f}: {duration(seconds)}")}</title>'
                "</circle>"
            )
    parts += _keys(growth)
    return "".join([*parts, "</svg>"])


def _decades(low: float, high: float) -> Sequence[int]:
    """Whole powers of ten in a range of logarithms, not more than eight."""
    found = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
    return found[:: -(-len(found) // 8) or 1]


def _axes(growth: Growth, x: Scale, y: Scale) -> list[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = [label("tick", (LEFT + right) / 2, bottom + 34, growth.axis)]
    powers: list[float] = list(_decades(y.low, y.high))
    if len(powers) < 2:  # a range within a decade
        base = math.floor(y.low)
        marks = (d + math.log10(s) for d in (base, base + 1) for s in (1, 2, 3, 5, 7))
        powers = [power for power in marks if y.low <= power <= y.high]
    for power in powers:
        at = y.at(power)
        time = duration(10.0**power, "{:.3g}".format)
        parts += horizontal("grid", LEFT, right, at), label("tick", LEFT - 8, at + 4, time, "end")
    sizes = [10.0**power for power in _decades(x.low, x.high)]
    for size in sizes if len(sizes) > 1 else growth.x:
        at = x.at(math.log10(size))
        parts += (
            f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{bottom}"/>',
            label("tick", at, bottom + 17, short(size)),
        )
    return parts


def _keys(growth: Growth) -> list[str]:
    """Names and exponents, two in a row, below the chart."""
    parts: list[str] = []
    for number, line in enumerate(growth.lines):
        left = LEFT if number % 2 == 0 else LEFT + (WIDTH - LEFT) // 2
        y = HEIGHT + 8 + 20 * (number // 2)
        said = f"{line.name}: exponent {growth.tail(line).exponent:.2f}"
        dot = f'<circle class="dot c{number % HUES + 1}" cx="{left}" cy="{y - 4}" r="4"/>'
        parts += dot, label("label", left + 10, y, said, "start")
    return parts
