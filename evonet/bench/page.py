"""Results as one self-contained HTML page, in the style of the reports about runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evonet.bench.charts import bar_length, draw_growth
from evonet.bench.comparison import SpeedComparison
from evonet.bench.growth import Growth
from evonet.bench.result import Bench, command_of
from evonet.bench.suites import SUITES
from evonet.bench.tables import comparison_table, digits, growth_table, percent
from evonet.bench.terminal import about
from evonet.report.markup import items, text, tiles
from evonet.report.page import ASSETS


def render_page(bench: Bench) -> str:
    """Renders the page as text."""
    sheets = (ASSETS / "page.css", Path(__file__).with_name("bench.css"))
    style = "".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    return items(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>evonet bench</title><style>{style}</style></head><body>",
            _header(bench),
            *(part for name in bench.findings for part in _suite(bench, name)),
            "</body></html>",
        ]
    )


def _header(bench: Bench) -> str:
    limits = bench.limits.best()
    shown = [
        ("multiply-adds", f"{digits(limits['fma'] / 1e9)} G/s", "in registers, float32"),
        ("L1 caches", f"{digits(limits['l1'] / 1e9)} GB/s", "read"),
        ("memory", f"{digits(limits['memory'] / 1e9)} GB/s", "read"),
    ]
    for name, title in (
        ("forward-small-sigmoid", "forward pass"),
        ("generation-medium-1000", "generation"),
        ("rollout-compared", "episodes"),
        ("plugin-evaluate", "plugin"),
    ):
        found = bench.comparison(name)
        other = found.entry("neat-python") if found else None
        if found and other:
            shown.append((title, f"{digits(found.ratio(other))}×", "as fast as neat-python"))
    badge = '<em class="open">quick: figures mean nothing</em>' if bench.quick else ""
    missing = "".join(f"<br>{text(line)}" for line in bench.missing)
    return items(
        [
            f"<header><h1>evonet bench{badge}</h1>",
            f"<p><code>{text(bench.command)}</code> · {text(about(bench))}{missing}</p>",
            tiles(shown),
            '<p class="note">Contenders took turns, round after round. Times are medians; a ratio '
            "is how many times longer a contender takes than the first. Shares compare the work "
            "that no implementation can avoid with the limits above.</p></header>",
        ]
    )


def _suite(bench: Bench, name: str) -> Iterator[str]:
    found = bench.findings[name]
    if not found.comparisons and not found.growths:
        return
    yield f'<section class="suite"><h2>{text(name.capitalize())}</h2>'
    yield f"<p>{text(SUITES[name].title)} <code>{text(command_of(name))}</code></p>"
    for comparison in found.comparisons:
        yield _comparison(comparison, bench.limits.best())
    if found.growths:
        yield items(['<div class="growths">', *map(_growth, found.growths), "</div>"])
    yield "</section>"


def _comparison(comparison: SpeedComparison, limits: Mapping[str, float]) -> str:
    first, table = comparison.entries[0], comparison_table(comparison, limits)
    said = f"Time for {comparison.unit}, bars by its logarithm."
    if shares := comparison.shares(first, limits):
        said += f" {first.name} reaches {percent(max(shares.values()))} of its nearest limit."
    rows = []
    for entry, (name, *figures, note) in zip(comparison.entries, table.rows, strict=True):
        hue = "c1" if entry is first or entry.name.startswith("evonet") else "c2"
        rows.append(
            f'<tr><td class="who words">{text(name)}<i>{text(note)}</i></td><td class="length '
            f'{hue}"><i style="width:{100 * bar_length(comparison, entry):.1f}%"></i></td>'
            f"{_cells(figures, 'td')}</tr>"
        )
    return items(
        [
            f'<div class="card"><h2>{text(comparison.title)}</h2><table class="results">',
            f"<tr><th></th><th></th>{_cells(table.head[1:-1], 'th')}</tr>",
            *rows,
            f'</table><p class="note">{text(said)}</p></div>',
        ]
    )


def _cells(figures: Sequence[str], tag: str) -> str:
    return "".join(f'<{tag} class="figure">{text(figure)}</{tag}>' for figure in figures)


def _growth(growth: Growth) -> str:
    table = growth_table(growth)
    said = f"Time for {growth.unit}; dashed is the power law of the upper half, expected exponent "
    said += f"{growth.expected:g}. " + " ".join(growth.reasons())
    return items(
        [
            f'<div class="card"><h2>{text(growth.title)}</h2>',
            draw_growth(growth),
            f'<table class="results"><tr>{_cells(table.head, "th")}</tr>',
            *(
                f"<tr{' class=wide' if row[0] == 'bends' else ''}>{_cells(row, 'td')}</tr>"
                for row in table.rows
            ),
            f'</table><p class="note">{text(said.strip())}</p></div>',
        ]
    )
