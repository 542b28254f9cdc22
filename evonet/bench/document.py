"""Puts results into a page of Markdown, between marks, and their plots beside it.

A part of the page lies between `<!-- bench NAME -->` and `<!-- end NAME -->`, where NAME is that of
a benchmark, "machine" or "claims". Parts that a run did not measure stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from evonet.bench.charts import alone, bars_height, draw_bars, draw_growth, growth_height
from evonet.bench.claims import check_claims, claims_table
from evonet.bench.result import Bench
from evonet.bench.suites import SUITES
from evonet.bench.tables import as_markdown, comparison_table, growth_table, limits_table
from evonet.bench.terminal import about
from evonet.errors import FileFormatError
from evonet.files.atomic import open_atomic

# Plots of comparisons; all growths have one.
PLOTTED: Final = (
    "forward-small-sigmoid",
    "generation-medium-1000",
    "rollout-compared",
    "plugin-evaluate",
)


def write_document(bench: Bench, page: Path) -> list[Path]:
    """Renews the parts of a page that a run has measured.

    Args:
        bench: The run.
        page: With marks; plots go into a folder of its name beside it.

    Returns:
        What was written.

    Raises:
        FileFormatError: A mark is missing, or stands twice.
        OSError: A file cannot be read or written.
    """
    text = page.read_text(encoding="utf-8")
    folder = page.with_suffix("")
    plots: dict[Path, str] = {}
    for name, lines in _parts(bench, folder, plots).items():
        text = _replace(text, name, "\n".join(lines), page)
    if plots:
        folder.mkdir(exist_ok=True)
    for file, drawing in plots.items():
        with open_atomic(file) as out:
            out.write(drawing.encode())
    with open_atomic(page) as out:
        out.write(text.encode())
    return [page, *plots]


def _replace(text: str, name: str, inner: str, page: Path) -> str:
    begin, end = f"<!-- bench {name} -->", f"<!-- end {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise FileFormatError(
            f"{page}: {begin} and then {end} must stand there once each, to put results between."
        )
    before, rest = text.split(begin)
    return f"{before}{begin}\n\n{inner.strip()}\n\n{end}{rest.split(end)[1]}"


def _parts(bench: Bench, folder: Path, plots: dict[Path, str]) -> dict[str, list[str]]:
    parts = {"machine": list(_machine(bench))}
    for name in SUITES:
        lines = list(_suite(bench, name, folder, plots))
        if lines:
            parts[name] = lines
    checked = check_claims(bench)
    if checked and set(parts) >= {"machine", "forward", "generation", "rollout"}:
        parts["claims"] = [as_markdown(claims_table(checked))]
    return parts


def _machine(bench: Bench) -> Iterator[str]:
    yield f"`{bench.command}`: {about(bench)}."
    yield ""
    if bench.missing:
        yield "Not taking part: " + "; ".join(f"`{line}`" for line in bench.missing) + "."
        yield ""
    yield as_markdown(limits_table(bench.limits))


def _suite(bench: Bench, name: str, folder: Path, plots: dict[Path, str]) -> Iterator[str]:
    command = f"evonet bench {name}"
    limits = bench.limits.best()
    for comparison in bench.findings.comparisons:
        if comparison.command != command:
            continue
        yield f"**{comparison.title}**; time for {comparison.unit}. `{command}`"
        yield ""
        if comparison.name in PLOTTED:
            said = f"Time for {comparison.unit}, and how many times as long"
            drawing = alone(draw_bars(comparison), said, bars_height(comparison))
            yield from _plot(folder, comparison.name, comparison.title, drawing, plots)
        yield as_markdown(comparison_table(comparison, limits))
        yield ""
    for growth in bench.findings.growths:
        if growth.command != command:
            continue
        yield f"**{growth.title}**; time for {growth.unit}. `{command}`"
        yield ""
        drawing = alone(draw_growth(growth), growth.title, growth_height(growth))
        yield from _plot(folder, growth.name, growth.title, drawing, plots)
        yield as_markdown(growth_table(growth))
        yield ""
        yield f"Expected exponent {growth.expected:g}. {' '.join(growth.reasons())}".strip()
        yield ""


def _plot(
    folder: Path, name: str, title: str, drawing: str, plots: dict[Path, str]
) -> Iterator[str]:
    file = folder / f"{name}.svg"
    plots[file] = drawing
    yield f"![{title}]({folder.name}/{file.name})"
    yield ""
