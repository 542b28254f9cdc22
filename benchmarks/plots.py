"""Plots of results as SVG files, for the documentation."""

from __future__ import annotations

from typing import Final

from evonet.bench.charts import WIDTH, bar_length
from evonet.bench.comparison import SpeedComparison
from evonet.bench.tables import duration, ratio_text
from evonet.report.markup import text

STYLE: Final = """
svg{font:12px system-ui,sans-serif;background:#fff}
.c1{--hue:#2f6fde}.c2{--hue:#e2703a}.c3{--hue:#2a9d74}.c4{--hue:#8a5bd1}.c5{--hue:#98a2b3}
.grid{stroke:#e6eaf0}.tick,.axis{fill:#75808f;font-size:11px}.label{fill:#1b2330;font-size:12px}
.line{fill:none;stroke:var(--hue);stroke-width:2;stroke-linejoin:round}
.line.dashed{stroke-width:1.2;stroke-dasharray:4 4}.dot,.bar{fill:var(--hue)}.key{fill:#1b2330}
.title{fill:#1b2330;font-size:14px;font-weight:600}
""".strip()


def alone(drawing: str, title: str, height: int) -> str:
    """Makes a file of a drawing, with its own colours and a title above it.

    Args:
        drawing: The drawing of a function here or of `evonet.bench.charts`.
        title: The title.
        height: The height of the drawing.
    """
    inner = drawing.partition(">")[2].rpartition("</svg>")[0]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height + 30}" '
        f'width="{WIDTH}" height="{height + 30}" role="img" aria-label="{text(title)}">'
        f'<style>{STYLE}</style><text class="title" x="14" y="22">{text(title)}</text>'
        f'<g transform="translate(0 30)">{inner}</g></svg>\n'
    )


def bars_height(comparison: SpeedComparison) -> int:
    """The height of `draw_bars`."""
    return 30 * len(comparison.entries) + 8


def draw_bars(comparison: SpeedComparison) -> str:
    """Draws bars as long as the logarithm of time, with the ratio beside each."""
    height = bars_height(comparison)
    left = 16 + 6.4 * max(len(entry.name) for entry in comparison.entries)
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img">']
    for number, entry in enumerate(comparison.entries):
        y = 6 + 30 * number
        width = bar_length(comparison, entry) * (WIDTH - 130 - left)
        ours = entry.name.startswith("evonet") or number == 0
        shown = duration(entry.timing.median)
        if number:
            shown += f" · {ratio_text(comparison, entry)}"
        parts.append(
            f'<text class="label" x="{left - 10:.1f}" y="{y + 15}" text-anchor="end">'
            f"{text(entry.name)}</text>"
            f'<rect class="bar {"c1" if ours else "c2"}" x="{left:.1f}" y="{y}" '
            f'width="{width:.1f}" height="21" rx="4">'
            f"<title>{text(entry.note or entry.name)}</title></rect>"
            f'<text class="tick" x="{left + width + 8:.1f}" y="{y + 15}">{text(shown)}</text>'
        )
    return "".join([*parts, "</svg>"])
