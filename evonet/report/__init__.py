"""The page about a run: one HTML file that needs nothing but a browser.

All charts and drawings are SVG written here; a little JavaScript shows values under the pointer
and plays the champion's episode. Every text that comes from a file is escaped.
"""

from __future__ import annotations

from evonet.report.page import write_report

__all__ = ["write_report"]
