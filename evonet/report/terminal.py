"""Draws a network in a terminal: links as braille dots, nodes and names as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Final

from evonet.report.layout import Layout

WIDTH: Final = 76
# Of larger networks the strongest links are drawn; more would be a cloud of dots.
MOST_LINKS: Final = 400
# The bit of each dot of a braille character, by row and column.
_DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))

Paint = Callable[[str, bool], str]


def draw_in_terminal(
    layout: Layout, names: Mapping[int, str], paint: Paint = lambda text, positive: text
) -> str:
    """Draws a network in lines of at most WIDTH characters, inputs on the left.

    `paint` colours the dots of a link, given whether its weight is positive.
    """
    labels = [names.get(spot.key, str(spot.key))[:18] for spot in layout.spots]
    left = max((len(label) for label, s in zip(labels, layout.spots, strict=True) if s.level == 0),
               default=0)  # fmt: skip
    right = max((len(label) for label, s in zip(labels, layout.spots, strict=True) if s.level > 0),
                default=0)  # fmt: skip
    height = max(3, min(48, 2 * layout.tallest - 1))
    across = WIDTH - left - right - 6

    def at(level: int, row: float) -> tuple[int, int]:
        """Column and row of a character."""
        return left + 2 + round(across * level / max(1, layout.depth)), int(row * height)

    cells: dict[tuple[int, int], tuple[int, bool]] = {}
    for link in sorted(layout.links, key=lambda link: abs(link.weight))[-MOST_LINKS:]:
        start, end = layout.spots[link.source], layout.spots[link.target]
        rows = [start.row, *link.bends, end.row]
        levels = [start.level + i for i in range(len(rows) - 1)] + [end.level]
        corners = [at(level, row) for level, row in zip(levels, rows, strict=True)]
        for (x1, y1), (x2, y2) in pairwise(corners):
            _draw_line(cells, (2 * x1 + 1, 4 * y1 + 2), (2 * x2, 4 * y2 + 2), link.weight >= 0)

    grid = [[" "] * WIDTH for _ in range(height)]
    for (x, y), (dots, positive) in cells.items():
        grid[y][x] = paint(chr(0x2800 + dots), positive)
    for spot, label in zip(layout.spots, labels, strict=True):
        x, y = at(spot.level, spot.row)
        grid[y][x] = "○" if spot.level == 0 else "●"
        text = f"{label.rjust(left)} " if spot.level == 0 else f" {label}"
        first = x - len(text) if spot.level == 0 else x + 1
        for offset, character in enumerate(text):
            if 0 <= first + offset < WIDTH and (character != " " or spot.level == 0):
                grid[y][first + offset] = character
    return "\n".join("".join(row).rstrip() for row in grid)


def _draw_line(
    cells: dict[tuple[int, int], tuple[int, bool]],
    start: tuple[int, int],
    end: tuple[int, int],
    positive: bool,
) -> None:
    """Sets the dots between two points; a character has 2 by 4 dots."""
    (x1, y1), (x2, y2) = start, end
    steps = max(abs(x2 - x1), abs(y2 - y1), 1)
    for step in range(steps + 1):
        x = x1 + round((x2 - x1) * step / steps)
        y = y1 + round((y2 - y1) * step / steps)
        cell = x // 2, y // 4
        dots, _ = cells.get(cell, (0, positive))
        cells[cell] = dots | _DOTS[y % 4][x % 2], positive
