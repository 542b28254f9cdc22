"""Runs all benchmarks and renews docs/performance.md, which takes a few minutes.

    python -m benchmarks.performance [forward generation ...] [--rounds 5] [--threads 0]
        [--page docs/performance.md]

A part of the page lies between `<!-- bench NAME -->` and `<!-- end NAME -->`, where NAME is that of
a benchmark, "machine" or "claims". Plots go into a folder beside the page. Parts that a run did not
measure stay as they are. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.claims import check_claims, claims_table
from benchmarks.plots import alone, bars_height, draw_bars
from evonet.bench.charts import draw_growth, growth_height
from evonet.bench.comparison import BenchOptions, SpeedComparison
from evonet.bench.growth import Growth
from evonet.bench.peers.installed import Peers
from evonet.bench.result import Bench, command_of
from evonet.bench.suites import SUITES, run_suites
from evonet.bench.tables import ResultTable, comparison_table, growth_table, limits_table
from evonet.bench.terminal import about
from evonet.errors import FileFormatError
from evonet.files.atomic import open_atomic
from evonet.installation import require_native

PAGE: Final = Path(__file__).parents[1] / "docs" / "performance.md"
# The comparisons with a plot; all growths have one.
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
        page: A page with marks; plots go into a folder of its name beside it.

    Returns:
        The files that were written.

    Raises:
        FileFormatError: A mark is missing, or appears twice.
        OSError: A file cannot be read or written.
    """
    text = page.read_text(encoding="utf-8")
    folder = page.with_suffix("")
    plots: dict[Path, str] = {}
    for name, lines in _parts(bench, folder, plots).items():
        text = _replace(text, name, "\n".join(lines), page)
    if plots:
        folder.mkdir(exist_ok=True)
    for file, content in {**plots, page: text}.items():
        with open_atomic(file) as out:
            out.write(content.encode())
    return [page, *plots]


def as_markdown(table: ResultTable) -> str:
    """A table of Markdown."""
    marks = ["---" if prose else "---:" for prose in table.prose]
    lines = [table.head, marks, *table.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _replace(text: str, name: str, inner: str, page: Path) -> str:
    start, end = f"<!-- bench {name} -->", f"<!-- end {name} -->"
    if text.count(start) != 1 or text.count(end) != 1 or text.index(start) > text.index(end):
        raise FileFormatError(
            f"{page}: results go between {start} and {end}, which must appear once each."
        )
    before, rest = text.split(start)
    return f"{before}{start}\n\n{inner.strip()}\n\n{end}{rest.split(end)[1]}"


def _parts(bench: Bench, folder: Path, plots: dict[Path, str]) -> dict[str, list[str]]:
    parts = {"machine": list(_machine(bench))}
    for name in bench.findings:
        if lines := list(_suite(bench, name, folder, plots)):
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
    found = bench.findings[name]
    for comparison in found.comparisons:
        yield from _title(comparison, name)
        if comparison.name in PLOTTED:
            title = f"Time for {comparison.unit}, and how many times as long"
            plot = alone(draw_bars(comparison), title, bars_height(comparison))
            yield from _plot(comparison, plot, folder, plots)
        yield as_markdown(comparison_table(comparison, bench.limits.best()))
        yield ""
    for growth in found.growths:
        yield from _title(growth, name)
        plot = alone(draw_growth(growth), growth.title, growth_height(growth))
        yield from _plot(growth, plot, folder, plots)
        yield as_markdown(growth_table(growth))
        yield ""
        yield f"Expected exponent {growth.expected:g}. {' '.join(growth.reasons())}".strip()
        yield ""


def _title(result: SpeedComparison | Growth, suite: str) -> tuple[str, str]:
    return f"**{result.title}**; time for {result.unit}. `{command_of(suite)}`", ""


def _plot(
    result: SpeedComparison | Growth, drawing: str, folder: Path, plots: dict[Path, str]
) -> tuple[str, str]:
    file = folder / f"{result.name}.svg"
    plots[file] = drawing
    return f"![{result.title}]({folder.name}/{file.name})", ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"of {', '.join(SUITES)}")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is timed")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 uses all")
    parser.add_argument("--page", type=Path, default=PAGE, help="a page with marks")
    arguments = parser.parse_args()
    if unknown := set(arguments.suites) - set(SUITES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(SUITES)}")
    options = BenchOptions(
        quick=False,
        rounds=arguments.rounds,
        threads=arguments.threads or int(require_native().available_threads()),
        peers=Peers(),
        say=lambda line: print(f"... {line}", file=sys.stderr, flush=True),
    )
    names = arguments.suites or list(SUITES)
    command = command_of(" ".join(arguments.suites) or "all")
    bench = run_suites(names, options, command)
    for file in write_document(bench, arguments.page):
        print(f"{file} is written")


if __name__ == "__main__":
    main()
