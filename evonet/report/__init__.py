"""The page about a run: one HTML file that needs nothing but a browser.

All charts and drawings are SVG made here by hand; a little JavaScript lets them be pointed at and
plays the champion's episode. Every text that comes from a file is escaped.
"""

from __future__ import annotations

from evonet.report.page import write_report

__all__ = ["write_report"]
