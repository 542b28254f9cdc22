"""Columns that name rows, from which nothing can be learnt for other rows."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from evonet.messages import name as quoted
from evonet.tasks.dates import find_dates
from evonet.tasks.tables import Table, is_missing, is_number

# Quantities may all be different too, so that whole numbers need such a name: id, user_id, userID,
# "Row Number". Years, counts and amounts have none.
WORDS: Final = frozenset(
    ("id", "ids", "uid", "uuid", "guid", "identifier", "index", "idx", "key", "rowid", "serial")
)
PAIRS: Final = frozenset((("row", "number"), ("row", "no"), ("row", "nr"), ("serial", "number")))
FEWEST_ROWS: Final = 11


def find_identifiers(table: Table, names: Sequence[str]) -> list[str]:
    """Finds columns that hold another text, or another whole number, in every row.

    Args:
        table: The table; without names of columns, nothing is found.
        names: The columns to look at.
    """
    if not table.has_header or len(table.rows) < FEWEST_ROWS:
        return []
    return [name for name in names if _is_identifier(name, table.column(name))]


def describe_identifiers(names: Sequence[str]) -> str:
    """Says that columns are left out, and how to keep them."""
    listed = ", ".join(map(quoted, names))
    return (
        f"identifiers, with another value in every row, are left out: {listed} "
        f"(--set 'task.keep={json.dumps(list(names), ensure_ascii=False)}' keeps them)"
    )


def _is_identifier(column: str, cells: Sequence[str]) -> bool:
    present = [cell for cell in cells if not is_missing(cell)]
    if 2 * len(present) < len(cells) or len(set(present)) != len(present):
        return False
    if all(re.fullmatch(r"[+-]?\d+", cell) for cell in present):
        words = _words(column)
        return not WORDS.isdisjoint(words[-1:]) or words[-2:] in PAIRS
    return not any(map(is_number, present)) and find_dates(present) is None


def _words(column: str) -> tuple[str, ...]:
    """The words of a column's name: user_id, "User ID" and userId are all user and id."""
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", column)
    return tuple(re.findall(r"[^\W_]+", spaced.lower()))
