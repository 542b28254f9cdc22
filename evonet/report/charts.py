"""Charts over generations: lines with bands, and stacked areas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from evonet.report.history import Floats
from evonet.report.markup import area, data, horizontal, items, label, path, short, text
from evonet.report.scale import TINIEST, Scale, room, ticks

HEIGHT: Final = 250
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 12, 30
# The number of colours for species in the style sheet.
HUES: Final = 12


@dataclass(frozen=True)
class Line:
    """One line of a chart."""

    name: str  # its name in the legend
    values: Floats  # [K], one for each generation shown
    hue: str  # a class of the style sheet
    dashed: bool = False  # whether it is drawn dashed and thin


@dataclass(frozen=True)
class Band:
    """A range behind the lines."""

    name: str  # its name in the legend
    low: Floats  # [K] lower ends
    high: Floats  # [K] upper ends
    hue: str  # a class of the style sheet


@dataclass(frozen=True)
class Frame:
    """The axes of a chart."""

    x: Scale  # the scale of generations
    y: Scale  # the scale of values, or of their logarithms
    width: int  # the width of the drawing
    log: bool = False  # whether the y axis is logarithmic

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
        """Places values along the y axis; those not above 0 lie below a logarithmic one."""
        if self.log:
            values = np.log10(np.maximum(values, max(10.0 ** (self.y.low - 1.0), TINIEST)))
        return self.y(values)

    def axes(self) -> list[str]:
        """Draws grid lines and the numbers along both axes."""
        parts = []
        for place, value in self._numbers():
            y = self.y.at(place)
            parts.append(horizontal("grid", LEFT, self.width - RIGHT, y))
            parts.append(label("tick", LEFT - 8, y + 4, short(value), "end"))
        for value in ticks(self.x.low, self.x.high, self.width // 90):
            if value != int(value):
                continue
            first = value == self.x.low
            if not first and self.x.at(value) < LEFT + 116:
                continue  # the word beside the first number needs the room
            words = f"{'generation ' if first else ''}{int(value)}"
            anchor = "start" if first else "middle"
            parts.append(label("tick", self.x.at(value), HEIGHT - BOTTOM + 18, words, anchor))
        return parts

    def _numbers(self) -> list[tuple[float, float]]:
        """Returns the numbers along the y axis: their places on its scale, and values."""
        low, high = self.y.low, self.y.high
        if not self.log:
            return [(value, value) for value in ticks(low, high, 4)]
        # Over few powers of ten, 2 and 5 between them too: an axis needs two numbers to be read.
        steps = (1, 2, 5) if high - low < 2.5 else (1,)
        powers = range(max(-300, math.floor(low)), min(300, math.ceil(high)) + 1)
        every = max(1, math.ceil((high - low) / 8))
        values = [step * 10.0**power for power in powers if power % every == 0 for step in steps]
        return [(math.log10(v), v) for v in values if low <= math.log10(v) <= high]

    def clipped(self, parts: Sequence[str]) -> list[str]:
        """Clips what lies beyond the axes, with a margin for the ends of lines."""
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
        title: The heading of the chart.
        x: [K] generations.
        lines: The lines, drawn in this order.
        bands: Ranges drawn behind them.
        limits: The least and greatest value shown; None for those of lines and bands.
        log: Whether the y axis is logarithmic; limits must then be above 0.
        rule: A value to mark across the whole chart, and its label.
        marks: Points to mark: generation, value and explanation.
        width: The width of the drawing.
        shown: A class of the style sheet that shows the chart in wide or narrow windows only.
    """
    if limits is None:
        drawn = [line.values for line in lines] + [v for b in bands for v in (b.low, b.high)]
        limits = min(v.min() for v in drawn), max(v.max() for v in drawn)
    if log:
        title += ", logarithmic"
        limits = math.log10(limits[0]), math.log10(limits[1])
    frame = Frame.around(x, *room(*limits), width, log)
    place = frame.x(x)
    parts = [
        f'<path class="band {band.hue}" '
        f'd="{area(place, frame.height(band.low), frame.height(band.high))}"/>'
        for band in bands
    ]
    if rule is not None:
        parts += _rule(frame, *rule)
    parts += [_line(line, place, frame.height(line.values)) for line in lines]
    parts += [
        f'<circle class="mark" cx="{frame.x.at(generation):.1f}" '
        f'cy="{float(frame.height(value)):.1f}" r="3.2"><title>{text(words)}</title></circle>'
        for generation, value, words in marks
    ]
    legend = [(line.name, line.hue, "dashed" if line.dashed else "solid") for line in lines]
    legend += [(band.name, band.hue, "box") for band in bands]
    legend += [("new champion", "c1", "ring")] if marks else []
    return _figure(title, frame, parts, legend, x, lines, shown)


def _line(line: Line, x: Floats, y: Floats) -> str:
    if len(x) == 1:
        return f'<circle class="dot {line.hue}" cx="{x[0]:.1f}" cy="{y[0]:.1f}" r="4"/>'
    style = f"line {line.hue}{' dashed' if line.dashed else ''}"
    return f'<path class="{style}" d="{path(x, y)}"/>'


def _rule(frame: Frame, value: float, words: str) -> list[str]:
    y = float(frame.height(value))
    if not TOP <= y <= HEIGHT - BOTTOM:
        return []
    return [
        horizontal("rule", LEFT, frame.width - RIGHT, y),
        # Below the line where it is too near to the top.
        label("rule-label", LEFT + 4, y - 5 if y > TOP + 12 else y + 14, words, "start"),
    ]


def area_chart(
    title: str, x: Floats, layers: Sequence[Line], *, width: int = 560, legend: bool = True
) -> str:
    """Draws layers stacked over generations x [K], the first at the bottom.

    A few points far above all others are cut off, so that the others can be seen. Layers are named
    in a legend, or else labelled where they are thick.
    """
    stack = np.cumsum([layer.values for layer in layers], axis=0)
    most = min(float(stack[-1].max()), 3.0 * float(np.quantile(stack[-1], 0.95)))
    frame = Frame.around(x, 0.0, most if most > TINIEST else 1.0, width)
    place = frame.x(x)
    if len(x) == 1:  # a single generation fills the chart
        place, stack = np.array([LEFT, width - RIGHT], float), np.repeat(stack, 2, axis=1)
    parts: list[str] = []
    spots: list[_LayerLabel] = []
    below = np.zeros(stack.shape[1])
    for layer, above in zip(layers, stack, strict=True):
        present = np.flatnonzero(above > below)
        if len(present) > 0:
            # One point more on either side, where the layer is empty.
            span = slice(max(0, present[0] - 1), present[-1] + 2)
            shape = area(place[span], frame.y(below[span]), frame.y(above[span]))
            parts.append(
                f'<path class="layer {layer.hue}" d="{shape}">'
                f"<title>{text(layer.name)}</title></path>"
            )
            if not legend:
                spots.append(_layer_label(frame, layer.name, place, below, above))
        below = above
    labels = _without_overlap(spots)
    names = [(layer.name, layer.hue, "box") for layer in layers] if legend else []
    return _figure(title, frame, [*parts, *labels], names, x, layers[::-1])


class _LayerLabel(NamedTuple):
    """The name of a layer, where the layer is thickest."""

    thickness: float
    x: float
    y: float
    name: str


def _layer_label(frame: Frame, name: str, x: Floats, low: Floats, high: Floats) -> _LayerLabel:
    thickness = frame.y(low) - frame.y(high)
    thickness[:1] *= 0.3  # a label at the very edge would be cut
    thickness[-1:] *= 0.3
    widest = int(np.argmax(thickness))
    middle = float(frame.y((low[widest] + high[widest]) / 2))
    shown = name.removeprefix("species ")
    half = 3.5 * len(shown) + 8
    at = min(max(float(x[widest]), LEFT + half), frame.width - RIGHT - half)
    return _LayerLabel(float(thickness[widest]), at, middle + 4, shown)


def _without_overlap(spots: Sequence[_LayerLabel]) -> list[str]:
    """Draws the labels of thick layers, the thickest first, where there is still room."""
    kept: list[_LayerLabel] = []
    for spot in sorted(spots, key=lambda spot: -spot.thickness):
        room_x = [3.5 * (len(spot.name) + len(other.name)) + 4 for other in kept]
        free = all(
            abs(spot.x - other.x) > apart or abs(spot.y - other.y) > 14
            for other, apart in zip(kept, room_x, strict=True)
        )
        if spot.thickness >= 22 and free:
            kept.append(spot)
    return [label("layer-label", spot.x, spot.y, spot.name) for spot in kept]


def _figure(
    title: str,
    frame: Frame,
    parts: Sequence[str],
    legend: Sequence[tuple[str, str, str]],
    x: Floats,
    lines: Sequence[Line],
    shown: str = "",
) -> str:
    """Puts a chart together, with the values that the page shows under the pointer."""
    keys = "".join(
        f'<span class="key {hue}"><i class="{kind}"></i>{text(name)}</span>'
        for name, hue, kind in legend
    )
    pointed = {
        "x": [int(v) for v in x],
        "from": frame.x.start if len(x) > 1 else (frame.x.start + frame.x.end) / 2,
        "to": frame.x.end,
        "series": [
            {"name": line.name, "values": [float(f"{value:.5g}") for value in line.values]}
            for line in lines
        ],
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
