"""Results as one self-contained page, in the style of the reports about runs."""

from __future__ import annotations

import os
from collections.abc import Iterator

from evonet.atomic_file import open_atomic
from evonet.bench.charts import draw_bars, draw_growth
from evonet.bench.claims import check_claims, claims_table
from evonet.bench.comparison import Comparison
from evonet.bench.growth import Growth
from evonet.bench.result import Bench
from evonet.bench.suites import SUITES
from evonet.bench.tables import as_html, comparison_table, digits, growth_table, percent
from evonet.bench.terminal import about
from evonet.report.markup import items, text
from evonet.report.page import ASSETS

STYLE = """
.results { font-variant-numeric: tabular-nums; margin-top: 14px; }
.results td, .results th { padding: 5px 10px; width: auto !important; }
.results td:first-child { color: var(--ink); }
.results .figure { text-align: right; white-space: nowrap; }
.results .words { text-align: left; white-space: normal; }
.results td.words:last-child { color: var(--soft); font-size: 12.5px; }
.label { fill: var(--ink); font-size: 12px; } .bar { fill: var(--hue); opacity: 0.85; }
.suite { margin-top: 34px; } .suite > h2 { font-size: 20px; margin-bottom: 2px; }
.suite > p { margin: 0 0 12px; color: var(--soft); }
.suite > .card { margin-bottom: 14px; }
.pair { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 6fr); gap: 10px 28px; align-items: center; }
@media (max-width: 940px) { .pair { grid-template-columns: minmax(0, 1fr); } }
.growths { display: grid; gap: 14px; grid-template-columns: repeat(2, minmax(0, 1fr)); }
@media (max-width: 940px) { .growths { grid-template-columns: minmax(0, 1fr); } }
.growths .card { margin: 0; }
code { font: 12.5px ui-monospace, SFMono-Regular, Menlo, monospace; background: var(--shade);
  border-radius: 6px; padding: 2px 6px; }
"""


def write_page(bench: Bench, file: str | os.PathLike[str]) -> None:
    """Writes the page.

    Args:
        bench: What to show.
        file: Where to.

    Raises:
        OSError: It cannot be written.
    """
    with open_atomic(file) as out:
        out.write(render_page(bench).encode())


def render_page(bench: Bench) -> str:
    """Makes the page as text."""
    sheet = (ASSETS / "page.css").read_text(encoding="utf-8")
    return items(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>evonet bench</title><style>{sheet}{STYLE}</style></head><body>",
            _header(bench),
            *(part for name in SUITES for part in _suite(bench, name)),
            _claims(bench),
            "</body></html>",
        ]
    )


def _header(bench: Bench) -> str:
    limits = bench.limits.best()
    tiles = [
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
            tiles.append((title, f"{digits(found.ratio(other))}×", "as fast as neat-python"))
    shown = "".join(
        f'<div class="tile"><span>{text(title)}</span><b>{text(value)}</b><i>{text(note)}</i></div>'
        for title, value, note in tiles
    )
    badge = '<em class="open">quick: figures say nothing</em>' if bench.quick else ""
    missing = "".join(f"<br>{text(line)}" for line in bench.missing)
    return items(
        [
            f"<header><h1>evonet bench{badge}</h1>",
            f"<p><code>{text(bench.command)}</code> · {text(about(bench))}{missing}</p>",
            f'<div class="tiles">{shown}</div>',
            '<p class="note">Contenders took turns, round after round. Times are medians; a ratio '
            "is how many times longer somebody takes than the first. Shares say what was reached "
            "of the limits above with the work that nobody can avoid.</p></header>",
        ]
    )


def _suite(bench: Bench, name: str) -> Iterator[str]:
    command = f"evonet bench {name}"
    compared = [c for c in bench.findings.comparisons if c.command == command]
    grown = [g for g in bench.findings.growths if g.command == command]
    if not compared and not grown:
        return
    yield f'<section class="suite"><h2>{text(name.capitalize())}</h2>'
    yield f"<p>{text(SUITES[name])} <code>{text(command)}</code></p>"
    for comparison in compared:
        yield _comparison(comparison, bench)
    if grown:
        yield '<div class="growths">'
        for growth in grown:
            yield _growth(growth)
        yield "</div>"
    yield "</section>"


def _comparison(comparison: Comparison, bench: Bench) -> str:
    limits = bench.limits.best()
    best = comparison.shares(comparison.entries[0], limits)
    reached = max(best.values(), default=0.0)
    note = f"Time for {comparison.unit}."
    if best:
        note += f" {comparison.entries[0].name} reaches {percent(reached)} of its nearest limit."
    return items(
        [
            f'<div class="card"><h2>{text(comparison.title)}</h2>',
            f'<div class="pair"><div>{draw_bars(comparison)}</div>',
            f"<div>{as_html(comparison_table(comparison, limits))}</div></div>",
            f'<p class="note">{text(note)}</p></div>',
        ]
    )


def _growth(growth: Growth) -> str:
    said = f"Time for {growth.unit}; dashed is the power law of the upper half, expected exponent "
    said += f"{growth.expected:g}. " + " ".join(growth.reasons())
    return items(
        [
            f'<div class="card"><h2>{text(growth.title)}</h2>',
            draw_growth(growth),
            as_html(growth_table(growth)),
            f'<p class="note">{text(said.strip())}</p></div>',
        ]
    )


def _claims(bench: Bench) -> str:
    checked = check_claims(bench)
    if not checked:
        return ""
    return items(
        [
            '<section class="suite"><h2>Figures that the documentation quotes</h2>',
            f'<div class="card">{as_html(claims_table(checked))}</div></section>',
        ]
    )
