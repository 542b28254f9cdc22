"""Charts over generations: lines with bands, and areas on top of each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from evonet.report.history import Floats
from evonet.report.markup import area, data, items, path, short, text
from evonet.report.scale import Scale, room, ticks

HEIGHT: Final = 250
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 12, 30
# How many hues the style sheet has for species.
HUES: Final = 12


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    Attributes:
        name: For the legend.
        values: [K].
        hue: A class of the style sheet.
        dashed: Whether it is less important.
    """

    name: str
    values: Floats
    hue: str
    dashed: bool = False


@dataclass(frozen=True)
class Band:
    """A range behind the lines.

    Attributes:
        name: For the legend.
        low: [K].
        high: [K].
        hue: A class of the style sheet.
    """

    name: str
    low: Floats
    high: Floats
    hue: str


@dataclass(frozen=True)
class Frame:
    """Where a chart's axes are.

    Attributes:
        x: Generations to places.
        y: Values to places, or their logarithms.
        width: Of the drawing.
        log: Whether the y axis is logarithmic.
    """

    x: Scale
    y: Scale
    width: int
    log: bool = False

    @classmethod
    def around(cls, x: Floats, low: float, high: float, width: int, log: bool = False) -> Frame:
        """Leaves room for labels around generations [K] and values from low to high."""
        first, last = float(x[0]), float(x[-1])
        if first == last:
            first, last = first - 0.5, last + 0.5
        return cls(
            Scale(first, last, LEFT, width - RIGHT),
            Scale(low, high, HEIGHT - BOTTOM, TOP),
            width,
            log,
        )

    def height(self, values: npt.ArrayLike) -> Floats:
        """The places of values along the y axis; those not above 0 fall off a logarithmic one."""
        if self.log:
            values = np.log10(np.maximum(values, 10.0 ** (self.y.low - 1.0)))
        return self.y(values)

    def axes(self) -> list[str]:
        """Lines across the chart, and numbers along it."""
        right, bottom = self.width - RIGHT, HEIGHT - BOTTOM
        parts = []
        for value in ticks(self.y.low, self.y.high, 4):
            if self.log and value != round(value):
                continue
            y = self.y.at(value)
            parts.append(
                f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
                f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
                f"{short(10.0**value if self.log else value)}</text>"
            )
        for value in ticks(self.x.low, self.x.high, self.width // 90):
            if value != int(value):
                continue
            first = value == self.x.low
            parts.append(
                f'<text class="tick" x="{self.x.at(value):.1f}" y="{bottom + 18}" '
                f'text-anchor="{"start" if first else "middle"}">'
                f"{'generation ' if first else ''}{int(value)}</text>"
            )
        return parts

    def clipped(self, parts: Sequence[str]) -> list[str]:
        """Cuts off what would lie beyond the axes, but leaves room for the ends of lines."""
        x, y = LEFT - 4, TOP - 4
        size = self.width - RIGHT - LEFT + 8, HEIGHT - BOTTOM - TOP + 8
        box = f"{x} {y} {size[0]} {size[1]}"
        return [
            f'<svg x="{x}" y="{y}" width="{size[0]}" height="{size[1]}" viewBox="{box}">',
            *parts,
            "</svg>",
        ]


def line_chart(
    title: str,
    x: Floats,
    lines: Sequence[Line],
    bands: Sequence[Band] = (),
    *,
    limits: tuple[float, float] | None = None,
    log: bool = False,
    rule: tuple[float, str] | None = None,
    marks: Sequence[tuple[float, float, str]] = (),
    width: int = 560,
    shown: str = "",
) -> str:
    """Draws lines over generations.

    Args:
        title: Above the chart.
        x: [K] generations.
        lines: Drawn in this order.
        bands: Drawn below them.
        limits: The least and greatest value shown; None for those of lines and bands.
        log: Whether the y axis is logarithmic; limits must be above 0.
        rule: A value to mark all across the chart, and what it says.
        marks: Generation, value and explanation of points to mark.
        width: Of the drawing.
        shown: A class of the style sheet that decides in which windows.
    """
    if limits is None:
        drawn = [line.values for line in lines] + [v for b in bands for v in (b.low, b.high)]
        limits = min(v.min() for v in drawn), max(v.max() for v in drawn)
    if log:
        limits = math.log10(limits[0]), math.log10(limits[1])
    frame = Frame.around(x, *room(*limits), width, log)
    place = frame.x(x)
    parts = []
    for band in bands:
        shape = area(place, frame.height(band.low), frame.height(band.high))
        parts.append(f'<path class="band {band.hue}" d="{shape}"/>')
    if rule is not None:
        parts += _rule(frame, *rule)
    for line in lines:
        style = f"line {line.hue}" + (" dashed" if line.dashed else "")
        places = frame.height(line.values)
        if len(x) == 1:
            parts.append(f'<circle class="dot {line.hue}" cx="{place[0]:.1f}" '
                         f'cy="{places[0]:.1f}" r="4"/>')  # fmt: skip
        else:
            parts.append(f'<path class="{style}" d="{path(place, places)}"/>')
    for generation, value, says in marks:
        parts.append(
            f'<circle class="mark" cx="{frame.x.at(generation):.1f}" '
            f'cy="{float(frame.height(value)):.1f}" r="3.2"><title>{text(says)}</title></circle>'
        )
    legend = [(line.name, line.hue, "dashed" if line.dashed else "solid") for line in lines]
    legend += [(band.name, band.hue, "box") for band in bands]
    series = [{"name": line.name, "hue": line.hue, "values": _rounded(line.values)}
              for line in lines]  # fmt: skip
    return _figure(title, frame, parts, legend, x, series, shown)


def _rule(frame: Frame, value: float, says: str) -> list[str]:
    y = float(frame.height(value))
    if not TOP <= y <= HEIGHT - BOTTOM:
        return []
    right = frame.width - RIGHT
    return [
        f'<line class="rule" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>',
        f'<text class="rule-label" x="{LEFT + 4}" y="{y - 5:.1f}">{text(says)}</text>',
    ]


def area_chart(
    title: str, x: Floats, layers: Sequence[Line], *, width: int = 560, legend: bool = True
) -> str:
    """Draws layers on top of each other over generations, the first at the bottom.

    A few points far above all others are cut off, so that the others can be seen.

    Args:
        title: Above the chart.
        x: [K] generations.
        layers: Whose values are added up.
        width: Of the drawing.
        legend: Whether to name them above the chart; otherwise wide ones bear their names.
    """
    stack = np.cumsum([layer.values for layer in layers], axis=0)
    most = min(float(stack[-1].max()), 3.0 * float(np.quantile(stack[-1], 0.95)))
    frame = Frame.around(x, 0.0, most or 1.0, width)
    place = frame.x(x)
    if len(x) == 1:  # a single generation fills the chart
        place, stack = np.array([LEFT, width - RIGHT], float), np.repeat(stack, 2, axis=1)
    parts: list[str] = []
    labels: list[str] = []
    below = np.zeros(stack.shape[1])
    for layer, above in zip(layers, stack, strict=True):
        present = np.flatnonzero(above > below)
        if len(present) > 0:
            # One point more on either side, where the layer is still or already empty.
            span = slice(max(0, present[0] - 1), present[-1] + 2)
            shape = area(place[span], frame.y(below[span]), frame.y(above[span]))
            parts.append(
                f'<path class="layer {layer.hue}" d="{shape}">'
                f"<title>{text(layer.name)}</title></path>"
            )
            if not legend:
                labels += _layer_label(frame, layer.name, place, below, above)
        below = above
    names = [(layer.name, layer.hue, "box") for layer in layers] if legend else []
    series = [{"name": layer.name, "hue": layer.hue, "values": _rounded(layer.values)}
              for layer in reversed(layers)]  # fmt: skip
    return _figure(title, frame, [*parts, *labels], names, x, series)


def _layer_label(frame: Frame, name: str, x: Floats, low: Floats, high: Floats) -> list[str]:
    thickness = frame.y(low) - frame.y(high)
    thickness[:1] *= 0.3  # a label at the very edge would be cut
    thickness[-1:] *= 0.3
    widest = int(np.argmax(thickness))
    if thickness[widest] < 22:
        return []
    middle = float(frame.y((low[widest] + high[widest]) / 2))
    at = min(max(float(x[widest]), LEFT + 14), frame.width - RIGHT - 14)
    return [
        f'<text class="layer-label" x="{at:.1f}" y="{middle + 4:.1f}" text-anchor="middle">'
        f"{text(name.removeprefix('species '))}</text>"
    ]


def _figure(
    title: str,
    frame: Frame,
    parts: Sequence[str],
    legend: Sequence[tuple[str, str, str]],
    x: Floats,
    series: Sequence[object],
    shown: str = "",
) -> str:
    keys = "".join(
        f'<span class="key {hue}"><i class="{kind}"></i>{text(name)}</span>'
        for name, hue, kind in legend
    )
    pointed = {
        "x": [int(v) for v in x],
        "from": frame.x.start if len(x) > 1 else (frame.x.start + frame.x.end) / 2,
        "to": frame.x.end,
        "series": series,
    }
    return items(
        [
            f'<figure class="{f"chart {shown}".strip()}">',
            f'<figcaption><b>{text(title)}</b><span class="keys">{keys}</span></figcaption>',
            f'<svg viewBox="0 0 {frame.width} {HEIGHT}" role="img" aria-label="{text(title)}">',
            *frame.axes(),
            *frame.clipped(parts),
            f'<line class="cursor" y1="{TOP}" y2="{HEIGHT - BOTTOM}" visibility="hidden"/>',
            "</svg>",
            f'<script type="application/json">{data(pointed)}</script>',
            "</figure>",
        ]
    )


def _rounded(values: Floats) -> list[float]:
    return [float(f"{value:.5g}") for value in values]
