"""A network as SVG: a column per level, links as wide as their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from evonet.report.layout import Layout, Spot
from evonet.report.markup import items, text

# The strongest links of a larger network are drawn; more would be a blot, and megabytes.
MOST_LINKS: Final = 1500
RADIUS: Final = 13.0


def draw_network(layout: Layout, names: Mapping[int, str], *, standalone: bool = False) -> str:
    """Draws a network with its names and weights.

    Args:
        layout: Where nodes are.
        names: Of inputs and outputs, by key.
        standalone: Whether the SVG is a file of its own, with colours of its own.
    """
    longest = max((len(names.get(spot.key, "")) for spot in layout.spots), default=0)
    margin = 34.0 + 6.2 * min(longest, 24)
    width = max(420.0, 2 * margin + 110.0 * layout.depth)
    crowded = layout.tallest > 24
    step = 34.0 if not crowded else 20.0
    height = max(190.0, 40.0 + step * 1.25 * layout.tallest)
    radius = RADIUS if not crowded else 6.0
    place = {
        spot.slot: (
            margin + (width - 2 * margin) * spot.level / max(1, layout.depth),
            26.0 + (height - 40.0) * spot.row,
        )
        for spot in layout.spots
    }
    parts = _columns(layout, width, height, margin)
    parts += _links(layout, names, place)
    for spot in layout.spots:
        parts += _spot(spot, layout, names, place[spot.slot], radius)
    opening = f'<svg class="network" viewBox="0 0 {width:.0f} {height:.0f}"'
    if standalone:
        size = f'width="{width:.0f}" height="{height:.0f}"'
        opening += f' xmlns="http://www.w3.org/2000/svg" {size}'
        parts.insert(0, f"<style>{STYLE}</style>")
    return items([opening + ' role="img" aria-label="network">', *parts, "</svg>"])


def draw_thumbnail(layout: Layout, width: float = 84.0, height: float = 52.0) -> str:
    """Draws the shape of a network, small and without words."""
    place = {
        spot.slot: (
            6.0 + (width - 12.0) * spot.level / max(1, layout.depth),
            3.0 + (height - 6.0) * spot.row,
        )
        for spot in layout.spots
    }
    strongest = _strongest(layout)[:120]
    parts = [
        f'<path class="{_sign(weight)}" d="{_curve(place[source], place[target])}" '
        f'stroke-width="{0.4 + 1.2 * share:.2f}"/>'
        for source, target, weight, share in strongest
    ]
    parts += [
        f'<circle class="{_kind(spot, layout)}" cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>'
        for spot in layout.spots
        for x, y in [place[spot.slot]]
    ]
    return items(
        [
            f'<svg class="network thumbnail" viewBox="0 0 {width:g} {height:g}">',
            *parts,
            "</svg>",
        ]
    )


def _columns(layout: Layout, width: float, height: float, margin: float) -> list[str]:
    parts = []
    for level in range(layout.depth + 1):
        x = margin + (width - 2 * margin) * level / max(1, layout.depth)
        parts.append(
            f'<rect class="level" x="{x - 21:.1f}" y="20" width="42" '
            f'height="{height - 26:.1f}" rx="9"/>'
            f'<text class="level-name" x="{x:.1f}" y="13" text-anchor="middle">'
            f"{f'level {level}' if level else 'inputs'}</text>"
        )
    return parts


def _links(
    layout: Layout, names: Mapping[int, str], place: Mapping[int, tuple[float, float]]
) -> list[str]:
    label = {spot.slot: names.get(spot.key, str(spot.key)) for spot in layout.spots}
    return [
        f'<path class="{_sign(weight)}" d="{_curve(place[source], place[target])}" '
        f'stroke-width="{0.7 + 4.3 * share:.2f}" opacity="{0.35 + 0.6 * share:.2f}">'
        f"<title>{text(label[source])} → {text(label[target])}: {weight:.4g}</title></path>"
        for source, target, weight, share in reversed(_strongest(layout))
    ]


def _strongest(layout: Layout) -> list[tuple[int, int, float, float]]:
    """The links by falling strength, each with its share of the greatest."""
    links = sorted(layout.links, key=lambda link: -abs(link.weight))[:MOST_LINKS]
    greatest = (abs(links[0].weight) if links else 0.0) or 1.0
    return [(*link, abs(link.weight) / greatest) for link in links]


def _curve(begin: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = begin, end
    bend = 0.45 * (x2 - x1)
    return (
        f"M{x1:.1f},{y1:.1f}C{x1 + bend:.1f},{y1:.1f} {x2 - bend:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"
    )


def _sign(weight: float) -> str:
    return "link negative" if weight < 0 else "link positive"


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
        parts.append(
            f'<text class="pin" x="{x + side * (radius + 6):.1f}" y="{y + 4:.1f}" '
            f'text-anchor="{anchor}">{text(name)}</text>'
        )
    elif radius > 8:
        parts.append(
            f'<text class="node-key" x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">'
            f"{spot.key}</text>"
        )
    return parts


# The colours of a drawing that has no page around it.
STYLE: Final = """
svg{font:12px system-ui,sans-serif;background:#fff}
.level{fill:#f0f3f7}.level-name{fill:#8792a2;font-size:10px}
.link{fill:none}.positive{stroke:#2f6fde}.negative{stroke:#e2703a}
.node{stroke:#1c2430;stroke-width:1.4;fill:#fff}.output{fill:#d9f2e6}.input{fill:#eef2f8}
.pin{fill:#1c2430}.node-key{fill:#5b6675;font-size:10px}
""".strip()
