"""Results as one self-contained HTML page, in the style of the reports about runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from evonet.bench.charts import bar_length, draw_growth
from evonet.bench.claims import check_claims, claims_table
from evonet.bench.comparison import SpeedComparison
from evonet.bench.growth import Growth
from evonet.bench.result import Bench, command_of
from evonet.bench.suites import SUITES
from evonet.bench.tables import (
    as_html,
    digits,
    duration,
    growth_table,
    percent,
    ratio_text,
    share_titles,
)
from evonet.bench.terminal import about
from evonet.bench.timing import Entry
from evonet.files.atomic import open_atomic
from evonet.report.markup import items, text
from evonet.report.page import ASSETS

STYLE = """
.results { font-variant-numeric: tabular-nums; }
.results td, .results th { padding: 6px 10px; width: auto !important; }
.results .figure { text-align: right; white-space: nowrap; }
.results .words { text-align: left; white-space: normal; }
.results tr.wide td { white-space: normal; font-size: 12px; color: var(--soft); }
.results td.words:last-child { color: var(--soft); font-size: 12.5px; }
.results .who { width: 300px !important; } .results .who i { display: block; font-style: normal;
  font-size: 12px; color: var(--faint); }
.results .length { width: 34% !important; min-width: 120px; }
.length i { display: block; height: 14px; border-radius: 4px; background: var(--hue);
  opacity: 0.85; }
.results .strong { font-weight: 600; }
.label { fill: var(--ink); font-size: 12px; }
.suite { margin-top: 34px; } .suite > h2 { font-size: 20px; margin-bottom: 2px; }
.suite > p { margin: 0 0 12px; color: var(--soft); }
.suite > .card { margin-bottom: 14px; }
.growths { display: grid; gap: 14px; grid-template-columns: repeat(2, minmax(0, 1fr)); }
@media (max-width: 940px) { .growths { grid-template-columns: minmax(0, 1fr); } }
.growths .card { margin: 0; } .growths .results { font-size: 12.5px; margin-top: 18px; }
.growths .results td, .growths .results th { padding: 4px 7px; white-space: normal; }
code { font: 12.5px ui-monospace, SFMono-Regular, Menlo, monospace; background: var(--shade);
  border-radius: 6px; padding: 2px 6px; }
"""


def write_page(bench: Bench, file: str | os.PathLike[str]) -> None:
    """Writes the page.

    Args:
        bench: The results.
        file: The file to write.

    Raises:
        OSError: It cannot be written.
    """
    with open_atomic(file) as out:
        out.write(render_page(bench).encode())


def render_page(bench: Bench) -> str:
    """Renders the page as text."""
    sheet = (ASSETS / "page.css").read_text(encoding="utf-8")
    return items(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>evonet bench</title><style>{sheet}{STYLE}</style></head><body>",
            _header(bench),
            *(part for name in bench.findings for part in _suite(bench, name)),
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
    badge = '<em class="open">quick: figures mean nothing</em>' if bench.quick else ""
    missing = "".join(f"<br>{text(line)}" for line in bench.missing)
    return items(
        [
            f"<header><h1>evonet bench{badge}</h1>",
            f"<p><code>{text(bench.command)}</code> · {text(about(bench))}{missing}</p>",
            f'<div class="tiles">{shown}</div>',
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
    first = comparison.entries[0]
    note = f"Time for {comparison.unit}, bars by its logarithm."
    if shares := comparison.shares(first, limits):
        note += f" {first.name} reaches {percent(max(shares.values()))} of its nearest limit."
    titles = ("median", "best", "ratio", *share_titles(comparison, limits))
    head = "".join(f'<th class="figure">{text(title)}</th>' for title in titles)
    return items(
        [
            f'<div class="card"><h2>{text(comparison.title)}</h2>',
            f'<table class="results"><tr><th class="words"></th><th></th>{head}</tr>',
            *(_entry(comparison, entry, limits) for entry in comparison.entries),
            f'</table><p class="note">{text(note)}</p></div>',
        ]
    )


def _entry(comparison: SpeedComparison, entry: Entry, limits: Mapping[str, float]) -> str:
    first = comparison.entries[0]
    hue = "c1" if entry is first or entry.name.startswith("evonet") else "c2"
    phases = " · ".join(f"{phase} {duration(spent)}" for phase, spent in entry.parts.items())
    notes = "".join(f"<i>{text(note)}</i>" for note in (entry.note, phases) if note)
    figures = [duration(entry.timing.median), duration(entry.timing.best)]
    figures.append(ratio_text(comparison, entry))
    figures += [percent(share) for share in comparison.shares(entry, limits).values()]
    cells = "".join(f'<td class="figure">{text(figure)}</td>' for figure in figures)
    return (
        f'<tr><td class="who words">{text(entry.name)}{notes}</td><td class="length {hue}">'
        f'<i style="width:{100 * bar_length(comparison, entry):.1f}%"></i></td>{cells}</tr>'
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
