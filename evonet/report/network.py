"""Draws a network as SVG: a column per level, links as wide as their weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from evonet.messages import counted
from evonet.report.folding import fold_inputs
from evonet.report.layout import Layout, Link, Spot
from evonet.report.markup import items, label, text

# Of larger networks the strongest links are drawn; more would be a blot, and megabytes.
MOST_LINKS: Final = 1500
# More names than this are not listed.
MOST_LISTED: Final = 60


class _Canvas(NamedTuple):
    """Maps levels and rows to places."""

    left: float  # the x of the inputs
    top: float  # the y of row 0
    across: float  # the distance from the inputs to the last level
    down: float  # the distance from row 0 to row 1
    depth: int  # the number of levels besides the inputs

    def at(self, level: int, row: float) -> tuple[float, float]:
        return self.left + self.across * level / max(1, self.depth), self.top + self.down * row

    def curve(self, layout: Layout, link: Link) -> str:
        """Returns a path that crosses every level horizontally, or leads back in a bow."""
        start, end = layout.spots[link.source], layout.spots[link.target]
        if start.level >= end.level:
            return self._bow(start, end)
        rows = [start.row, *link.bends, end.row]
        levels = range(start.level, end.level + 1)
        if not link.bends:
            levels = range(start.level, end.level + 1, end.level - start.level)
        x, y = self.at(start.level, start.row)
        pieces = [f"M{x:.1f},{y:.1f}"]
        for level, row in zip(levels[1:], rows[1:], strict=True):
            to_x, to_y = self.at(level, row)
            middle = (x + to_x) / 2
            pieces.append(f"C{middle:.1f},{y:.1f} {middle:.1f},{to_y:.1f} {to_x:.1f},{to_y:.1f}")
            x, y = to_x, to_y
        return "".join(pieces)

    def _bow(self, start: Spot, end: Spot) -> str:
        """Returns a path that leaves to the right and returns from the left, around the nodes."""
        (x, y), (to_x, to_y) = self.at(start.level, start.row), self.at(end.level, end.row)
        out = min(38.0, 0.4 * self.across)
        down = max(y, to_y) + min(34.0, 0.2 * self.down) + 0.12 * abs(x - to_x)
        return (
            f"M{x:.1f},{y:.1f}C{x + out:.1f},{y:.1f} {x + out:.1f},{down:.1f} "
            f"{(x + to_x) / 2:.1f},{down:.1f}S{to_x - out:.1f},{to_y:.1f} {to_x:.1f},{to_y:.1f}"
        )


def draw_network(layout: Layout, names: Mapping[int, str], *, standalone: bool = False) -> str:
    """Draws a network with names and weights; a standalone SVG has its own style sheet."""
    whole = layout
    layout, names, unused = fold_inputs(layout, names)
    tallest = whole.tallest
    if layout is not whole:
        tallest = max(Counter(spot.level for spot in layout.spots).values())
    crowded = tallest > 16
    radius = 6.0 if crowded else 13.0
    before = _longest(names, [spot.key for spot in layout.spots if spot.key < 0])
    behind = _longest(names, [spot.key for spot in layout.spots if spot.key >= 0])
    width = max(440.0, before + behind + 110.0 * layout.depth)
    if crowded:
        width = max(width, 620.0)
    height = max(0.5 * width, 40.0 + (18.0 if crowded else 42.0) * tallest)
    canvas = _Canvas(before, 26.0, width - before - behind, height - 40.0, layout.depth)
    parts = _columns(canvas, height)
    parts += _links(layout, names, canvas)
    for spot in layout.spots:
        parts += _spot(spot, layout, names, canvas.at(spot.level, spot.row), radius)
    if unused:
        listed = ", ".join(unused[:MOST_LISTED]) + (", …" if len(unused) > MOST_LISTED else "")
        words = f"{counted(len(unused), 'unused input')} left out"
        parts.append(f"<g><title>{text(listed)}</title>")
        parts.append(label("level-name", 4, height - 2, words, "start") + "</g>")
    opening = (
        f'<svg class="network{" tall" if crowded else ""}" viewBox="0 0 {width:.0f} {height:.0f}"'
    )
    if standalone:
        size = f'width="{width:.0f}" height="{height:.0f}"'
        opening += f' xmlns="http://www.w3.org/2000/svg" {size}'
        parts.insert(0, f"<style>{STYLE}</style>")
    return items([opening + ' role="img" aria-label="network">', *parts, "</svg>"])


def draw_thumbnail(layout: Layout, width: float = 84.0, height: float = 52.0) -> str:
    """Draws the shape of a network, small and without words."""
    canvas = _Canvas(6.0, 3.0, width - 12.0, height - 6.0, layout.depth)
    parts = [
        f'<path class="{_look(link)}" d="{canvas.curve(layout, link)}" '
        f'stroke-width="{0.4 + 1.2 * share:.2f}"/>'
        for link, share in _strongest(layout)[:120]
    ]
    for spot in layout.spots:
        x, y = canvas.at(spot.level, spot.row)
        parts.append(f'<circle class="{_kind(spot, layout)}" cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>')
    box = f"0 0 {width:g} {height:g}"
    return items([f'<svg class="network thumbnail" viewBox="{box}">', *parts, "</svg>"])


def _longest(names: Mapping[int, str], keys: Sequence[int]) -> float:
    """Returns the room beside a column for the longest of some names."""
    return 30.0 + 6.4 * min(24, max((len(names.get(key, "")) for key in keys), default=0))


def _columns(canvas: _Canvas, height: float) -> list[str]:
    parts = []
    for level in range(canvas.depth + 1):
        x, _ = canvas.at(level, 0.0)
        parts.append(
            f'<rect class="level" x="{x - 21:.1f}" y="20" width="42" '
            f'height="{height - 26:.1f}" rx="9"/>'
            + label("level-name", x, 13, f"level {level}" if level else "inputs")
        )
    return parts


def _links(layout: Layout, names: Mapping[int, str], canvas: _Canvas) -> list[str]:
    name = [text(names.get(spot.key, f"node {spot.key}")) for spot in layout.spots]
    return [
        f'<path class="{_look(link)}" d="{canvas.curve(layout, link)}" '
        f'stroke-width="{0.7 + 4.3 * share:.2f}" opacity="{0.35 + 0.6 * share:.2f}">'
        f"<title>{name[link.source]} → {name[link.target]}: {link.weight:.4g}"
        f"{', of the step before' if link.later else ''}</title></path>"
        for link, share in reversed(_strongest(layout))
    ]


def _strongest(layout: Layout) -> list[tuple[Link, float]]:
    """Returns the links, strongest first, each with its strength relative to the first."""
    links = sorted(layout.links, key=lambda link: -abs(link.weight))[:MOST_LINKS]
    greatest = (abs(links[0].weight) if links else 0.0) or 1.0
    return [(link, abs(link.weight) / greatest) for link in links]


def _look(link: Link) -> str:
    sign = "negative" if link.weight < 0 else "positive"
    return f"link {sign}{' later' if link.later else ''}"


def _kind(spot: Spot, layout: Layout) -> str:
    if spot.key < 0:
        return "node input"
    return "node output" if spot.key < layout.num_outputs else "node hidden"


def _spot(
    spot: Spot,
    layout: Layout,
    names: Mapping[int, str],
    at: tuple[float, float],
    radius: float,
) -> list[str]:
    x, y = at
    name = names.get(spot.key, "")
    parts = [
        f'<circle class="{_kind(spot, layout)}" data-slot="{spot.slot}" cx="{x:.1f}" '
        f'cy="{y:.1f}" r="{radius:g}"><title>{text(name or f"node {spot.key}")}: '
        f"{text(spot.formula)}</title></circle>"
    ]
    if name and (spot.level == 0 or spot.key >= 0):
        side, anchor = (-1, "end") if spot.level == 0 else (1, "start")
        parts.append(label("pin", x + side * (radius + 6), y + 4, name, anchor))
    elif radius > 8:
        parts.append(label("node-key", x, y + 4, spot.key))
    return parts


# The style of a drawing without a page around it.
STYLE: Final = """
svg{font:12px system-ui,sans-serif;background:#fff}
.level{fill:#f0f3f7}.level-name{fill:#8792a2;font-size:10px}
.link{fill:none}.positive{stroke:#2f6fde}.negative{stroke:#e2703a}
.later{stroke-dasharray:5 4}
.node{stroke:#1c2430;stroke-width:1.4;fill:#fff}.output{fill:#d9f2e6}.input{fill:#eef2f8}
.pin{fill:#1c2430}.node-key{fill:#5b6675;font-size:10px}
.pin,.node-key{paint-order:stroke;stroke:#fff;stroke-width:2.5px;stroke-linejoin:round}
""".strip()
