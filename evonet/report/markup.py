"""Building blocks of HTML and SVG, with every text escaped."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]


def text(value: object) -> str:
    """Escapes a text for use between tags or in an attribute."""
    shown = str(value).encode("utf-8", "replace").decode()  # a file may hold half of a character
    return html.escape(shown, quote=True)


def data(value: object) -> str:
    """Writes JSON that cannot end the script element around it."""
    escaped = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return escaped.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def short(value: float) -> str:
    """Writes a number for people: four digits, and 12.3k for thousands."""
    size = abs(value)
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= limit:
            scaled = value / (1e3 if unit == "k" else limit)
            return f"{scaled:.3g}{unit}"
    return f"{value:.4g}"


def path(x: Points, y: Points) -> str:
    """A line through points [K], as SVG path data."""
    return "M" + "L".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def area(x: Points, low: Points, high: Points) -> str:
    """The area between two lines over the same x [K], as SVG path data."""
    back = path(x[::-1], low[::-1])
    return f"{path(x, high)}L{back[1:]}Z"


def label(style: str, x: float, y: float, words: object, anchor: str = "middle") -> str:
    """An SVG text; `anchor` is the point of it that lies at x: start, middle or end."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{style}" {place}>{text(words)}</text>'


def horizontal(style: str, left: float, right: float, y: float) -> str:
    """A horizontal SVG line."""
    return f'<line class="{style}" x1="{left:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'


def tiles(figures: Iterable[tuple[str, str, str]]) -> str:
    """A row of figures in large type: the title, the value and a note of each."""
    shown = "".join(
        f'<div class="tile"><span>{text(title)}</span><b>{text(value)}</b><i>{text(note)}</i></div>'
        for title, value, note in figures
    )
    return f'<div class="tiles">{shown}</div>'


def items(parts: Iterable[str]) -> str:
    """Joins lines of markup."""
    return "\n".join(parts)
