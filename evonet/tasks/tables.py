"""Tables of text: CSV files as people have them, before anything becomes a number."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from evonet.errors import FileFormatError
from evonet.files.regular import open_regular
from evonet.messages import counted, show
from evonet.messages import name as quoted
from evonet.tasks.dates import parse_date

Header = Literal["auto", "yes", "no"]
Kind = Literal["classification", "regression"]

# Cells that hold nothing, in upper or lower case.
MISSING: Final = ("", "na", "n/a", "nan", "null", "?")
# A number with a decimal comma, as in 1,5 or 1.234,5; only where no comma separates cells.
DECIMAL_COMMA: Final = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d+)?", re.ASCII)
# Commas may be part of numbers, so they come last.
DELIMITERS: Final = ("\t", ";", ",")
SAMPLED_LINES: Final = 20
ENDINGS: Final = (".csv", ".tsv")
# A target of more different whole numbers is a quantity, and so is one with few examples of each.
MOST_NUMBERED_CLASSES: Final = 20
LEAST_EXAMPLES_PER_CLASS: Final = 5


@dataclass(frozen=True)
class Table:
    """Rows of text under names.

    Attributes:
        path: The file.
        names: The names of the columns: c1, c2 and so on where the file has none.
        rows: The cells, without white space around them.
        has_header: Whether the first line of the file has the names.
        notes: What people should know about how the file was read.
        lines: [B] the number of each row in the file, counted without empty lines; empty if no row
            was left out.
    """

    path: Path
    names: tuple[str, ...]
    rows: list[list[str]]
    has_header: bool
    notes: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()

    def column(self, name: str) -> list[str]:
        """Returns the cells of a column."""
        at = self.names.index(name)
        return [row[at] for row in self.rows]

    def place(self, row: int, name: str) -> str:
        """Names a cell as people would find it in the file."""
        return f"{self.path}: row {self.line(row)}, column {show(name)}"

    def line(self, row: int) -> int:
        """Returns the number of a row in the file."""
        return self.lines[row] if self.lines else row + 1 + self.has_header


def read_table(path: Path, header: Header = "auto") -> Table:
    """Reads a CSV file; commas, semicolons or tabs separate its cells.

    Args:
        path: The file.
        header: Whether the first line has the names of the columns. "auto" takes it for an example
            if it holds a number, or in a file without numbers if all of its cells recur below.

    Raises:
        FileFormatError: It is not such a file; says where.
        OSError: There is no such file, or it cannot be read.
    """
    rows, delimiter = _read_rows(path)
    if not rows:
        raise FileFormatError(f"{path}: the file needs at least one example, and has no line.")
    commas = _read_decimal_commas(rows) if delimiter != "," else []
    has_header = header == "yes" or (header == "auto" and _starts_with_names(rows))
    width = len(rows[0])
    first = "header" if has_header else "first row"
    for number, row in enumerate(rows[1:], 2):
        if len(row) != width:
            raise FileFormatError(
                f"{path}: row {number} has {counted(len(row), 'cell')}, the {first} has {width}."
            )
    if len(rows) == has_header:
        raise FileFormatError(
            f"{path}: the file needs a line of column names and at least one example."
        )
    if not has_header:
        names = tuple(f"c{c + 1}" for c in range(width))
        notes = _note_commas(names, commas)
        if header == "auto":
            note = f"{path.name} has no line of column names; they are called c1 to c{width}"
            notes = (note, *notes)
        return Table(path, names, rows, False, notes)
    body = rows[1:]
    names = tuple(name or f"c{c + 1}" for c, name in enumerate(rows[0]))
    for name in names:
        if names.count(name) > 1:
            raise FileFormatError(
                f"{path}: two columns have the name {show(name)}. Rename one of them."
            )
    notes = _note_commas(names, commas)
    if not rows[0][0] and width > 1 and [row[0] for row in body] == [*map(str, range(len(body)))]:
        note = "the first column has no name and counts the rows, so it is left out"
        return Table(path, names[1:], [row[1:] for row in body], True, (note, *notes))
    return Table(path, names, body, True, notes)


def _note_commas(names: Sequence[str], columns: Sequence[int]) -> tuple[str, ...]:
    if not columns:
        return ()
    return (f"decimal commas: {', '.join(quoted(names[c]) for c in columns)}",)


def _read_rows(path: Path) -> tuple[list[list[str]], str]:
    """Reads all lines that are not empty; returns them, and what separates their cells."""
    try:
        with open_regular(path) as file:
            text = _decode(path, file.read())
        delimiter = _find_delimiter(text)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        return [[cell.strip() for cell in row] for row in reader if row], delimiter
    except csv.Error as error:
        raise FileFormatError(f"{path}: this is not a CSV file: {quoted(str(error))}") from error


def _find_delimiter(text: str) -> str:
    """Finds what separates cells: what every line has as often as the others, or most often."""
    lines = (line for line in text.splitlines() if line.strip())
    first = list(itertools.islice(lines, SAMPLED_LINES)) or [""]
    for delimiter in DELIMITERS:
        if first[0].count(delimiter) and len({line.count(delimiter) for line in first}) == 1:
            return delimiter
    return max(DELIMITERS, key=first[0].count)


def _decode(path: Path, content: bytes) -> str:
    """Reads UTF-8, or UTF-16 as spreadsheets write it."""
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise FileFormatError(
            f"{path}: line {line} is not text in UTF-8. Save the file as UTF-8, or convert it: "
            f"iconv -f WINDOWS-1252 -t UTF-8 {shlex.quote(path.name)} > utf8.csv"
        ) from error


def _read_decimal_commas(rows: list[list[str]]) -> list[int]:
    """Writes numbers such as 1.234,5 with a decimal point, in columns of nothing else.

    Returns:
        The columns.
    """
    found = []
    for c in range(len(rows[0])):
        cells = [row[c] for row in rows[1:] if c < len(row) and not is_missing(row[c])]
        if DECIMAL_COMMA.fullmatch(rows[0][c]):  # not a name
            cells.append(rows[0][c])
        if any("," in cell for cell in cells) and all(map(DECIMAL_COMMA.fullmatch, cells)):
            found.append(c)
            for row in rows:
                if c < len(row) and DECIMAL_COMMA.fullmatch(row[c]):
                    row[c] = row[c].replace(".", "").replace(",", ".")
    return found


def _starts_with_names(rows: Sequence[Sequence[str]]) -> bool:
    first, below = rows[0], rows[1:]
    if any(is_number(cell) or parse_date(cell) is not None for cell in first):
        return False
    columns = [{row[c] for row in below if c < len(row)} for c in range(len(first))]
    if any(is_number(cell) for column in columns for cell in column) or not below:
        return True
    return not all(cell in column for cell, column in zip(first, columns, strict=True))


def is_missing(cell: str) -> bool:
    """Whether a cell holds nothing."""
    return cell.lower() in MISSING


def is_number(cell: str) -> bool:
    """Whether a cell holds a finite number."""
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def infer_kind(table: Table, target: str) -> tuple[Kind, str]:
    """Decides whether a column holds classes or quantities.

    Args:
        table: The table.
        target: The name of the column.

    Returns:
        The name of the task, and why.
    """
    cells = [cell for cell in table.column(target) if not is_missing(cell)]
    different = len(set(cells))
    if not all(map(is_number, cells)):
        return "classification", f"{different} different texts"
    whole = all(float(cell).is_integer() for cell in cells)
    few = LEAST_EXAMPLES_PER_CLASS * different <= len(cells)
    if whole and few and different <= MOST_NUMBERED_CLASSES:
        return "classification", f"{different} different whole numbers"
    return "regression", "many different numbers" if whole else "numbers"
