"""Charts of results: bars for ratios, doubly logarithmic lines for growth.

A drawing is the same on the page and alone in a file, where it brings its colours with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from evonet.bench.comparison import Comparison
from evonet.bench.growth import Growth
from evonet.bench.tables import digits, duration, short
from evonet.bench.timing import Entry
from evonet.report.markup import path, text
from evonet.report.scale import Scale

WIDTH: Final = 560
HEIGHT: Final = 320
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 14, 44
HUES: Final = 5

STYLE: Final = """
svg{font:12px system-ui,sans-serif;background:#fff}
.c1{--hue:#2f6fde}.c2{--hue:#e2703a}.c3{--hue:#2a9d74}.c4{--hue:#8a5bd1}.c5{--hue:#98a2b3}
.grid{stroke:#e6eaf0}.tick,.axis{fill:#75808f;font-size:11px}.label{fill:#1b2330;font-size:12px}
.line{fill:none;stroke:var(--hue);stroke-width:2;stroke-linejoin:round}
.line.dashed{stroke-width:1.2;stroke-dasharray:4 4}.dot,.bar{fill:var(--hue)}.key{fill:#1b2330}
.title{fill:#1b2330;font-size:14px;font-weight:600}
""".strip()


def alone(drawing: str, title: str, height: int) -> str:
    """Makes a file of a drawing, with a title above it.

    Args:
        drawing: From one of the functions here.
        title: Above it.
        height: Of the drawing.
    """
    inner = drawing.partition(">")[2].rpartition("</svg>")[0]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height + 30}" '
        f'width="{WIDTH}" height="{height + 30}" role="img" aria-label="{text(title)}">'
        f'<style>{STYLE}</style><text class="title" x="14" y="22">{text(title)}</text>'
        f'<g transform="translate(0 30)">{inner}</g></svg>\n'
    )


def bars_height(comparison: Comparison) -> int:
    """The height of `draw_bars`."""
    return 30 * len(comparison.entries) + 8


def bar_length(comparison: Comparison, entry: Entry) -> float:
    """How long the bar of an entry is, from 0 to 1: by the logarithm of its time."""
    medians = [math.log10(each.timing.median) for each in comparison.entries]
    low, high = min(medians), max(medians)
    # Even the shortest is to be seen, and equal ones do not differ by noise alone.
    return Scale(low - max(0.12 * (high - low), 0.3), max(high, low + 0.3), 0, 1).at(
        math.log10(entry.timing.median)
    )


def draw_bars(comparison: Comparison) -> str:
    """Bars as long as the logarithm of time, with the ratio beside each."""
    height = bars_height(comparison)
    left = 16 + 6.4 * max(len(entry.name) for entry in comparison.entries)
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img">']
    for number, entry in enumerate(comparison.entries):
        y = 6 + 30 * number
        width = bar_length(comparison, entry) * (WIDTH - 130 - left)
        ours = entry.name.startswith("evonet") or number == 0
        said = duration(entry.timing.median)
        if number:
            said += f" · {digits(comparison.ratio(entry))}×"
        parts.append(
            f'<text class="label" x="{left - 10:.1f}" y="{y + 15}" text-anchor="end">'
            f"{text(entry.name)}</text>"
            f'<rect class="bar {"c1" if ours else "c2"}" x="{left:.1f}" y="{y}" '
            f'width="{width:.1f}" height="21" rx="4">'
            f"<title>{text(entry.note or entry.name)}</title></rect>"
            f'<text class="tick" x="{left + width + 8:.1f}" y="{y + 15}">{text(said)}</text>'
        )
    return "".join([*parts, "</svg>"])


def growth_height(growth: Growth) -> int:
    """The height of `draw_growth`."""
    return HEIGHT + 20 * -(-len(growth.lines) // 2)


def draw_growth(growth: Growth) -> str:
    """Lines on doubly logarithmic paper, each with its fitted power law dashed."""
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
    parts = []
    powers: list[float] = list(_decades(y.low, y.high))
    if len(powers) < 2:  # a range within a decade
        steps = (1, 2, 3, 5, 7)
        base = math.floor(y.low)
        powers = [
            p
            for d in (base, base + 1)
            for s in steps
            if y.low <= (p := d + math.log10(s)) <= y.high
        ]
    for power in powers:
        at = y.at(power)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>'
            f'<text class="tick" x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">'
            f"{_round_duration(10.0**power)}</text>"
        )
    sizes = [10.0**power for power in _decades(x.low, x.high)]
    if len(sizes) < 2:
        sizes = list(growth.x)
    for size in sizes:
        at = x.at(math.log10(size))
        parts.append(
            f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{bottom}"/>'
            f'<text class="tick" x="{at:.1f}" y="{bottom + 17}" text-anchor="middle">'
            f"{short(size)}</text>"
        )
    middle = (LEFT + right) / 2
    parts.append(
        f'<text class="tick" x="{middle:.1f}" y="{bottom + 34}" text-anchor="middle">'
        f"{text(growth.axis)}</text>"
    )
    return parts


def _round_duration(seconds: float) -> str:
    for limit, scale, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if seconds < limit * 0.9995:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds:.3g} s"


def _keys(growth: Growth) -> list[str]:
    """Names and exponents, two in a row, below the chart."""
    parts = []
    for number, line in enumerate(growth.lines):
        left = LEFT if number % 2 == 0 else LEFT + (WIDTH - LEFT) // 2
        y = HEIGHT + 8 + 20 * (number // 2)
        said = f"{line.name}: exponent {growth.tail(line).exponent:.2f}"
        parts.append(
            f'<circle class="dot c{number % HUES + 1}" cx="{left}" cy="{y - 4}" r="4"/>'
            f'<text class="label" x="{left + 10}" y="{y}">{text(said)}</text>'
        )
    return parts
