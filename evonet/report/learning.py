"""How the champion learned, and which inputs matter to it: more of results.json, as two cards."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from evonet.errors import FileFormatError
from evonet.messages import counted
from evonet.report.markup import items, label, path, short, text
from evonet.report.scale import Scale, room, ticks

WIDTH, HEIGHT = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 12, 44
# More inputs than this are added up in a last line.
MOST_INPUTS: Final = 14
MOST_CHARACTERS: Final = 28


def draw_learning(file: Path) -> str:
    """Draws what results.json has of learning and of inputs; "" if it has neither.

    Raises:
        FileFormatError: The file holds something else.
    """
    if not file.is_file():
        return ""
    try:
        found = json.loads(file.read_bytes())
        parts = [_curves(found["learning"]) if found.get("learning") else ""]
        if found.get("matters"):
            parts.append(_inputs(found["matters"], found["inputs"]))
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        raise FileFormatError(f"{file}: these are no results of a champion: {error}") from error
    return items(f'<div class="card learning">{part}</div>' for part in parts if part)


def _numbers(found: Any) -> list[float]:
    numbers = [float(value) for value in found]
    if not all(map(math.isfinite, numbers)):
        raise ValueError("a number is not finite")
    return numbers


def _curves(found: Any) -> str:
    lines = []
    for name, hue, at, values in (
        ("training batch", "c1", "steps", "loss"),
        ("validation", "c3", "looks", "validation"),
    ):
        steps, losses = _numbers(found.get(at, [])), _numbers(found.get(values, []))
        if len(steps) != len(losses):
            raise ValueError(f"{at} and {values} differ in length")
        if steps:
            lines.append((name, hue, np.array(steps), np.array(losses)))
    if not lines:
        return ""
    low, high = room(min(y.min() for *_, y in lines), max(y.max() for *_, y in lines))
    last = max(1.0, max(float(x.max()) for _, _, x, _ in lines))
    across, up = Scale(0.0, last, LEFT, WIDTH - RIGHT), Scale(low, high, HEIGHT - BOTTOM, TOP)
    parts = []
    for value in ticks(low, high, 4):
        place = up.at(value)
        parts.append(f'<path class="grid" d="M{LEFT},{place:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(label("tick", LEFT - 6, place + 4, short(value), "end"))
    for value in ticks(0.0, last, 5):
        parts.append(label("tick", across.at(value), HEIGHT - BOTTOM + 18, short(value)))
    parts.append(label("tick", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "steps of learning"))
    for _, hue, x, y in lines:
        if len(x) == 1:
            parts.append(
                f'<circle class="dot {hue}" cx="{across.at(x[0]):.1f}" cy="{up.at(y[0]):.1f}" '
                'r="4"/>'
            )
        else:
            parts.append(f'<path class="line {hue}" d="{path(across(x), up(y))}"/>')
    keys = "".join(
        f'<span class="key {hue}"><i class="solid"></i>{text(name)}</span>'
        for name, hue, *_ in lines
    )
    return items(
        [
            "<h2>How the champion learned</h2>",
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="learning curve">'
            f"{''.join(parts)}</svg>",
            f'<div class="keys">{keys}</div>',
            '<p class="note">Its mean loss while it learned, in its generation.</p>',
        ]
    )


def _inputs(found: Any, names: Sequence[Any]) -> str:
    shares = _numbers(found)
    titles = [str(name) for name in names] or [f"input {i}" for i in range(len(shares))]
    if len(titles) != len(shares):
        raise ValueError("matters and inputs differ in length")
    order = sorted(range(len(shares)), key=lambda i: (-shares[i], i))
    shown, rest = order[:MOST_INPUTS], order[MOST_INPUTS:]
    most = max(shares[shown[0]], 1e-12)
    rows = [_bar(titles[i], shares[i], shares[i] / most) for i in shown]
    if rest:
        total = sum(shares[i] for i in rest)
        words = f"{counted(len(rest), 'other')}: {total:.1%}"
        rows.append(f'<tr><td colspan="3" class="soft">{words}</td></tr>')
    return items(
        [
            "<h2>Which inputs matter</h2>",
            f'<table class="matters"><tbody>{"".join(rows)}</tbody></table>',
            '<p class="note">Gradient times input, averaged over training examples: roughly how '
            "much its answers would change without that input.</p>",
        ]
    )


def _bar(name: str, share: float, length: float) -> str:
    cut = name if len(name) <= MOST_CHARACTERS else name[: MOST_CHARACTERS - 1] + "…"
    return (
        f'<tr title="{text(name)}"><td>{text(cut)}</td><td class="bar">'
        f'<i style="--share:{length:.3f}"></i></td><td class="number">{share:.1%}</td></tr>'
    )
