"""How the columns of a table become the inputs of a network, and its outputs become answers.

An encoding is found when a task is made, and travels in champion.json, so that `evonet predict`
treats new rows as the rows that evolution saw. Numbers are one input each; a column of text has an
input per value, which is 1 where a row has that value, or a single input if there are two values;
dates have those of `evonet.tasks.dates`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from evonet.errors import FileFormatError
from evonet.messages import counted, did_you_mean, show
from evonet.tasks.dates import Dates, encode_days, find_dates, name_inputs, parse_date
from evonet.tasks.tables import Table, is_missing, is_number

Missing = Literal["error", "fill", "drop"]
Reals = npt.NDArray[np.float64]
# More values are names or free text, from which nothing can be learnt for others.
MOST_VALUES: Final = 100


@dataclass(frozen=True)
class Column:
    """A column that networks see.

    Attributes:
        name: Its name in the table.
        values: The texts that it may hold, in order; none for numbers and dates.
        dates: Whether it holds dates, or dates with times of day; None for anything else.
    """

    name: str
    values: tuple[str, ...] = ()
    dates: Dates | None = None

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of its inputs."""
        if self.dates is not None:
            return name_inputs(self.name, self.dates)
        if not self.values:
            return (self.name,)
        shown = self.values[1:] if len(self.values) == 2 else self.values
        return tuple(f"{self.name}={value}" for value in shown)


@dataclass(frozen=True)
class Encoding:
    """How a table becomes numbers, and numbers become answers.

    Attributes:
        columns: The columns that networks see, in the order of their inputs.
        targets: The names of the columns to predict.
        classes: The classes, one per output; none where numbers are predicted.
        missing: What to do about missing cells: "error" refuses them, "fill" takes the mean of the
            training examples, "drop" leaves their rows out.
        has_header: Whether tables have names; otherwise columns are found by their positions.
        fill: [I] what a missing cell gives.
        shift: [I] what is subtracted from each input.
        scale: [I] what it is then divided by.
        target_shift: [O] the same for numbers to predict; none for classes.
        target_scale: [O] the same for numbers to predict; none for classes.
    """

    columns: tuple[Column, ...]
    targets: tuple[str, ...]
    classes: tuple[str, ...] = ()
    missing: Missing = "error"
    has_header: bool = True
    fill: tuple[float, ...] = ()
    shift: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    target_shift: tuple[float, ...] = ()
    target_scale: tuple[float, ...] = ()

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(name for column in self.columns for name in column.input_names)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return self.classes or self.targets

    def raw_inputs(self, table: Table) -> Reals:
        """Returns inputs [B, I] before they are filled, shifted and scaled; missing ones are NaN.

        Raises:
            FileFormatError: A column is missing, or a cell holds what no cell held in training.
        """
        parts = [_encode(table, column) for column in self.columns]
        return np.concatenate(parts, axis=1)

    def inputs(self, raw: Reals) -> Reals:
        """Fills, shifts and scales inputs [B, I]."""
        filled = np.where(np.isnan(raw), np.asarray(self.fill), raw)
        inputs: Reals = (filled - np.asarray(self.shift)) / np.asarray(self.scale)
        return inputs

    def in_units(self, outputs: Reals) -> Reals:
        """Turns targets or outputs [B, O] into the units of the table; those of classes stay."""
        if self.classes:
            return outputs
        units: Reals = outputs * np.asarray(self.target_scale) + np.asarray(self.target_shift)
        return units

    def match(self, table: Table) -> Table:
        """Returns a table with the names that this encoding knows, if positions decide.

        Raises:
            FileFormatError: Positions decide, and there are too few or too many columns.
        """
        if self.has_header:
            return table
        inputs = [column.name for column in self.columns]
        every = sorted((*inputs, *self.targets), key=_position)
        for names in (every, inputs):
            if len(names) == len(table.names):
                return dataclasses.replace(table, names=tuple(names))
        raise FileFormatError(
            f"{table.path}: has {counted(len(table.names), 'column')}. The run had examples "
            f"without names, so {len(inputs)} columns are expected, or {len(every)} with the "
            "target."
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values that JSON can hold."""
        fields = dataclasses.asdict(self)
        for column in fields["columns"]:
            if column["dates"] is None:
                del column["dates"]  # as in files from before there were dates
        return {name: _plain(value) for name, value in fields.items()}

    @classmethod
    def from_dict(cls, table: object) -> Encoding:
        """Reads what `to_dict` returned, which may come from anywhere.

        Raises:
            FileFormatError: Something is missing, unknown or of another kind; names it.
        """
        names = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(table, dict) or set(table) != names:
            raise FileFormatError(f"encoding must have {', '.join(sorted(names))}.")
        columns = _list("columns", table["columns"], dict)
        for column in columns:
            if set(column) - {"dates"} != {"name", "values"} or not isinstance(column["name"], str):
                raise FileFormatError("encoding.columns must have a name and values each.")
            if column.get("dates") not in (None, *get_args(Dates)):
                raise FileFormatError(f"encoding.columns: dates is {show(column['dates'])}.")
        found = cls(
            columns=tuple(
                Column(c["name"], _list("values", c["values"], str), c.get("dates"))
                for c in columns
            ),
            targets=_list("targets", table["targets"], str),
            classes=_list("classes", table["classes"], str),
            missing=table["missing"],
            has_header=table["has_header"],
            **{name: _reals(name, table[name]) for name in _VECTORS},
        )
        found._check()
        return found

    def _check(self) -> None:
        inputs = len(self.input_names)
        outputs = 0 if self.classes else len(self.targets)
        sizes = {
            **{name: (len(getattr(self, name)), inputs) for name in _VECTORS[:3]},
            **{name: (len(getattr(self, name)), outputs) for name in _VECTORS[3:]},
        }
        for name, (found, expected) in sizes.items():
            if found != expected:
                raise FileFormatError(
                    f"encoding.{name} has {counted(found, 'number')}. Expected {expected}."
                )
        if self.missing not in get_args(Missing) or not isinstance(self.has_header, bool):
            raise FileFormatError(f"encoding.missing is {show(self.missing)}.")
        if 0.0 in self.scale or 0.0 in self.target_scale:
            raise FileFormatError("encoding.scale holds 0.")


_VECTORS: Final = ("fill", "shift", "scale", "target_shift", "target_scale")


def find_column(table: Table, name: str, categorical: bool) -> Column:
    """Finds out whether a column holds numbers, dates or categories.

    Args:
        table: The table.
        name: The column.
        categorical: Whether it holds categories even if all of them are numbers.

    Raises:
        FileFormatError: It mixes numbers and text.
    """
    cells = table.column(name)
    present = [cell for cell in cells if not is_missing(cell)]
    numbers = sum(map(is_number, present))
    if numbers == len(present) and not categorical:
        return Column(name)
    if not categorical and (kind := find_dates(present)) is not None:
        no_date = next((r for r, c in enumerate(cells) if not _fits_dates(c)), None)
        if no_date is not None:
            raise FileFormatError(_no_date(table, no_date, name))
        return Column(name, dates=kind)
    if numbers and not categorical:
        row = next(r for r, c in enumerate(cells) if not is_missing(c) and not is_number(c))
        raise FileFormatError(
            f"{table.place(row, name)} holds {show(cells[row])}. Expected a finite number, as in "
            f"other rows. If the column holds categories, add it to the option categories."
        )
    return Column(name, sort_values(set(present)))


def check_categories(table: Table, columns: Sequence[Column]) -> None:
    """Refuses columns of names and free text, all of them at once.

    Args:
        table: The table.
        columns: What was found in it.

    Raises:
        FileFormatError: Columns have too many different texts.
    """
    many = [c for c in columns if len(c.values) > MOST_VALUES or is_free_text(table, c)]
    if not many:
        return
    found = ", ".join(f"{show(c.name)} {len(c.values):,}" for c in many)
    names = json.dumps([c.name for c in many], ensure_ascii=False)
    hint = f"Leave out such columns by the option exclude, such as --set 'task.exclude={names}'."
    raise FileFormatError(
        f"{table.path}: too many different texts for categories, of "
        f"{counted(len(table.rows), 'row')}: {found}. "
        f"{describe_written_numbers(many[0].values) or hint}"
    )


def is_free_text(table: Table, column: Column) -> bool:
    """Whether few texts of a column occur twice."""
    return len(column.values) > 10 and 2 * len(column.values) > len(table.rows)


def describe_written_numbers(values: Sequence[str]) -> str:
    """Says how to write texts that are numbers to people; "" if they are not.

    Args:
        values: Different texts, such as "$1,200" or "5 %".
    """
    plain = [re.sub(r"[\s$€£¥%,']", "", value) for value in values]
    if not all(map(is_number, plain)):
        return ""
    return f"Write numbers without signs and separators: {plain[0]} instead of {show(values[0])}."


def sort_values(values: set[str]) -> tuple[str, ...]:
    """Sorts texts, by value if all of them are numbers."""
    if all(map(is_number, values)):
        return tuple(sorted(values, key=lambda value: (float(value), value)))
    return tuple(sorted(values))


def _encode(table: Table, column: Column) -> Reals:
    if column.name not in table.names:
        hint = did_you_mean(column.name, table.names, "Its columns are")
        raise FileFormatError(f"{table.path}: has no column {show(column.name)}. {hint}")
    cells = table.column(column.name)
    if column.dates is not None:
        days = [_day(table, row, column.name, cell) for row, cell in enumerate(cells)]
        return encode_days(np.array(days), column.dates)
    if not column.values:
        return np.array([[_number(table, r, column.name, c)] for r, c in enumerate(cells)])
    place = {value: i for i, value in enumerate(column.values)}
    encoded = np.zeros((len(cells), len(column.values)))
    for row, cell in enumerate(cells):
        if is_missing(cell):
            encoded[row] = np.nan
        elif cell in place:
            encoded[row, place[cell]] = 1.0
        else:
            hint = did_you_mean(cell, column.values)
            raise FileFormatError(
                f"{table.place(row, column.name)} holds {show(cell)}, which no example of the run "
                f"had. {hint}"
            )
    return encoded[:, 1:] if len(column.values) == 2 else encoded


def _number(table: Table, row: int, name: str, cell: str) -> float:
    if is_missing(cell):
        return math.nan
    if not is_number(cell):
        raise FileFormatError(
            f"{table.place(row, name)} holds {show(cell)}. Expected a finite number."
        )
    return float(cell)


def _day(table: Table, row: int, name: str, cell: str) -> float:
    if is_missing(cell):
        return math.nan
    day = parse_date(cell)
    if day is None:
        raise FileFormatError(_no_date(table, row, name))
    return day


def _fits_dates(cell: str) -> bool:
    return is_missing(cell) or parse_date(cell) is not None


def _no_date(table: Table, row: int, name: str) -> str:
    found = show(table.column(name)[row])
    return (
        f"{table.place(row, name)} holds {found}. Expected a date such as 2024-02-29, as in other "
        "rows."
    )


def read_numbers(table: Table, names: Sequence[str]) -> Reals:
    """Returns columns [B, O] of numbers; missing ones are NaN.

    Raises:
        FileFormatError: A cell holds something else.
    """
    return np.concatenate([_encode(table, Column(name)) for name in names], axis=1)


def _position(name: str) -> int:
    return int(name[1:]) if name[1:].isdigit() else 0


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _list(name: str, found: object, kind: type) -> tuple[Any, ...]:
    if not isinstance(found, list) or not all(isinstance(item, kind) for item in found):
        raise FileFormatError(f"encoding.{name} is {show(found)}. Expected a list.")
    return tuple(found)


def _reals(name: str, found: object) -> tuple[float, ...]:
    numbers = _list(name, found, (int, float))  # type: ignore[arg-type]
    if any(isinstance(number, bool) or not abs(number) <= sys.float_info.max for number in numbers):
        raise FileFormatError(f"encoding.{name} is {show(found)}. Expected finite numbers.")
    return tuple(map(float, numbers))
