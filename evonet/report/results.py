"""What the champion answers to the examples of its task: results.json as a card of the page."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evonet.errors import FileFormatError
from evonet.messages import counted
from evonet.messages import name as name_of
from evonet.report.markup import items, label, short, text
from evonet.report.scale import Scale, room, ticks

# The parts of the examples, the most telling first.
PARTS: Final = ("held out", "validation", "train")
# More classes than this are not written into the cells of a matrix.
MOST_NUMBERED: Final = 12
MOST_CLASSES: Final = 60
MOST_PLOTS: Final = 4
SIZE: Final = 300
MARGIN: Final = 56


def draw_results(path: Path) -> str:
    """Draws results.json; "" if the run has none.

    Raises:
        FileFormatError: The file holds something else.
    """
    if not path.is_file():
        return ""
    try:
        found = json.loads(path.read_bytes())
        if "parts" not in found and "sight" in found:
            return ""
        parts = {name: found["parts"][name] for name in PARTS if name in found["parts"]}
        name, part = next(iter(parts.items()))
        draw = {
            "classification": _confusion,
            "regression": _scatters,
            "truth table": _truth_table,
        }[found["kind"]]
        drawing = draw(found, name, part, parts)
        scores = _scores(parts) if found["kind"] != "truth table" else ""
    except (ValueError, TypeError, LookupError, AttributeError, StopIteration, ArithmeticError,
            RecursionError) as error:  # fmt: skip
        reason = name_of(str(error))
        raise FileFormatError(f"{path}: these are no results of a champion: {reason}") from error
    return items(['<div class="card results">', drawing, scores, "</div>"])


def _scores(parts: Mapping[str, Any]) -> str:
    names = list(dict.fromkeys(score for part in parts.values() for score in part["scores"]))
    rows = []
    for name, part in parts.items():
        shown = "".join(
            f'<td class="number">{score_text(n, part["scores"].get(n))}</td>' for n in names
        )
        count = f"{int(part['examples']):,}"
        rows.append(f'<tr><td>{text(name)}</td><td class="number">{count}</td>{shown}</tr>')
    head = "".join(f'<th class="number">{text(name)}</th>' for name in names)
    return (
        '<table class="scores"><thead><tr><th></th><th class="number">examples</th>'
        f"{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{_claims(parts)}"
    )


def _claims(parts: Mapping[str, Any]) -> str:
    """The intervals of scores, and what one answer for all examples would score."""
    shown = []
    for name, part in parts.items():
        guess = part.get("guess", {})
        for score, (low, high) in part.get("intervals", {}).items():
            ends = f"{score_text(score, low)} to {score_text(score, high)}"
            line = f"99 % interval of {score}, {name}: {ends}."
            if score in guess:
                value = score_text(score, guess[score])
                line += f" Always answering {guess['answer']} scores {value}."
            shown.append(f'<p class="note">{text(line)}</p>')
    return "".join(shown)


def score_text(name: str, value: float | None) -> str:
    """Writes a score: accuracies in percent.

    Args:
        name: What is scored.
        value: The score; None if it is not finite.
    """
    if value is None:
        return "–"
    return f"{float(value):.1%}" if name == "accuracy" else short(float(value))


def _confusion(found: Any, name: str, part: Any, parts: Any) -> str:
    matrix = [[int(count) for count in row] for row in part["confusion"]]
    count = len(matrix)
    if any(len(row) != count for row in matrix):
        raise ValueError("the confusion matrix is not square")
    classes = [str(name) for name in found["outputs"]]
    if len(classes) != count:
        classes = ["below 0.5", "0.5 and above"] if count == 2 else [str(i) for i in range(count)]
    heading = f"<h2>What it answers: {_examples(name)}</h2>"
    right = sum(matrix[i][i] for i in range(count))
    total = sum(map(sum, matrix))
    note = (
        f'<p class="note">{right:,} of {total:,} are right. A row is a class, a column what the '
        "champion takes it for.</p>"
    )
    if count > MOST_CLASSES:
        return heading + note
    head = "".join(f"<th><span>{text(_cut(name))}</span></th>" for name in classes)
    rows = []
    for i, row in enumerate(matrix):
        whole = sum(row) or 1
        cells = "".join(
            f'<td class="{"hit" if i == j else "miss"}" style="--share:{cell / whole:.3f}" '
            f'title="{text(classes[i])} taken for {text(classes[j])}: {cell}">'
            f"{cell if cell and count <= MOST_NUMBERED else ''}</td>"
            for j, cell in enumerate(row)
        )
        rows.append(f"<tr><th>{text(_cut(classes[i]))}</th>{cells}</tr>")
    style = " slanted" if max(map(len, classes)) > 3 else ""
    style += " numbered" if count <= MOST_NUMBERED else ""
    return items(
        [
            heading,
            f'<table class="confusion{style}"><thead><tr><th></th>{head}</tr></thead>',
            f"<tbody>{''.join(rows)}</tbody></table>",
            note,
        ]
    )


def _examples(part: str) -> str:
    """The examples of a part, as a heading names them."""
    return f"{text(part.replace(' ', '-'))} examples"


def _cut(name: str) -> str:
    return name if len(name) <= 16 else name[:15] + "…"


def _scatters(found: Any, name: str, part: Any, parts: Any) -> str:
    outputs = [str(name) for name in found["outputs"]]
    plots = []
    for number, points in enumerate(part["points"][:MOST_PLOTS]):
        behind = parts["train"]["points"][number] if name != "train" else []
        title = outputs[number] if number < len(outputs) else f"output {number}"
        plots.append(_scatter(title, _finite(points), _finite(behind)))
    more = len(part["points"]) - MOST_PLOTS
    left_out = f" {counted(more, 'more output')} not shown." if more > 0 else ""
    faint = " Faint: the examples it was trained on." if name != "train" else ""
    return items(
        [
            f"<h2>Answered against right: {_examples(name)}</h2>",
            f'<div class="plots">{"".join(plots)}</div>',
            f'<p class="note">A perfect answer lies on the line.{faint}{left_out}</p>',
        ]
    )


def _finite(points: Sequence[Sequence[float | None]]) -> list[tuple[float, float]]:
    return [
        (float(right), float(answer))
        for right, answer in points
        if right is not None and answer is not None and math.isfinite(right + answer)
    ]


def _scatter(
    title: str, points: list[tuple[float, float]], behind: list[tuple[float, float]]
) -> str:
    right = [x for x, _ in points + behind] or [0.0]
    low, high = room(min(right), max(right))
    x, y = Scale(low, high, MARGIN, SIZE - 8), Scale(low, high, SIZE - 40, 10)
    parts = []
    for value in ticks(low, high, 4):
        at, up = x.at(value), y.at(value)
        parts.append(
            f'<path class="grid" d="M{at:.1f},10V{SIZE - 40}M{MARGIN},{up:.1f}H{SIZE - 8}"/>'
        )
        parts.append(label("tick", at, SIZE - 24, short(value)))
        parts.append(label("tick", MARGIN - 5, up + 3, short(value), "end"))
    parts.append(f'<path class="ideal" d="M{MARGIN},{SIZE - 40}L{SIZE - 8},10"/>')
    for style, shown in (("point faint", behind), ("point", points)):
        parts += [
            # Answers beyond the frame lie on its edge.
            f'<circle class="{style}" cx="{x.at(a):.1f}" '
            f'cy="{min(max(y.at(b), 10.0), SIZE - 40.0):.1f}" r="2.6"/>'
            for a, b in shown
        ]
    parts.append(label("tick", (MARGIN + SIZE - 8) / 2, SIZE - 6, f"{_cut(title)}, right"))
    middle = (SIZE - 30) / 2
    parts.append(
        f'<text class="tick" transform="translate(10 {middle:.0f}) rotate(-90)" '
        'text-anchor="middle">answered</text>'
    )
    return (
        f'<svg class="scatter" viewBox="0 0 {SIZE} {SIZE}" role="img" '
        f'aria-label="{text(title)}">{"".join(parts)}</svg>'
    )


def _truth_table(found: Any, name: str, part: Any, parts: Any) -> str:
    outputs = [str(name) for name in found["outputs"]]
    rows = part["rows"]
    width = len(rows[0])
    count = len(outputs) or 1
    inputs = [str(n) for n in found["inputs"]] or [f"in {i}" for i in range(width - 2 * count)]
    if any(len(row) != len(inputs) + 2 * count for row in rows):
        raise ValueError("a row of the truth table has another length")
    outputs = outputs or ["out"]
    head = "".join(f"<th>{text(_cut(n))}</th>" for n in inputs)
    head += "".join(f"<th>{text(_cut(n))}</th><th>answer</th>" for n in outputs)
    shown, hits = [], 0
    for row in rows:
        cells = "".join(f"<td>{short(float(v))}</td>" for v in row[: len(inputs)])
        good = True
        for k in range(count):
            right, answer = float(row[len(inputs) + k]), row[len(inputs) + count + k]
            near = answer is not None and abs(float(answer) - right) < 0.5
            good &= near
            said = "–" if answer is None else f"{float(answer):.3f}"
            share = 0.0 if answer is None else min(max(float(answer), 0.0), 1.0)
            cells += (
                f"<td>{short(right)}</td>"
                f'<td class="answer {"hit" if near else "miss"}" style="--share:{share:.3f}">'
                f"{said}</td>"
            )
        hits += good
        shown.append(f"<tr>{cells}</tr>")
    return items(
        [
            "<h2>Truth table</h2>",
            f'<table class="truth"><thead><tr>{head}</tr></thead><tbody>{"".join(shown)}</tbody>',
            "</table>",
            f'<p class="note">{hits} of {counted(len(rows), "row")} on the right side of 0.5.</p>',
        ]
    )
