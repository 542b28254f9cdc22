"""Pieces of HTML and SVG, with every text escaped."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]


def text(value: object) -> str:
    """Escapes whatever stands between tags or in an attribute."""
    return html.escape(str(value), quote=True)


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


def items(parts: Iterable[str]) -> str:
    """Joins lines of markup."""
    return "\n".join(parts)
