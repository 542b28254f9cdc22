"""Examples to learn from: arrays, CSV and NPZ files, and the split into training and test."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.config.rules import Flag, Real, Whole
from evonet.errors import FileFormatError, OptionError, ShapeError
from evonet.files.npz import read_npz
from evonet.files.regular import open_regular
from evonet.messages import counted, did_you_mean, show
from evonet.numerics.philox import Purpose, philox
from evonet.tasks.options import read_option

# Classes times samples; a gigabyte of targets.
MOST_CELLS: Final = 1 << 27


@dataclass(frozen=True)
class Examples:
    """Samples with the right answers.

    Attributes:
        x: [B, I] samples.
        y: [B, O] targets; for classes 1 at the right one and 0 elsewhere.
        classes: The names of the classes, one per output; empty for numbers.
        columns: Names of the inputs, then of the numbers to predict; empty if unknown.
    """

    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    classes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs, or an empty tuple."""
        return self.columns[: self.x.shape[1]]

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs, or an empty tuple."""
        return self.classes or self.columns[self.x.shape[1] :]

    @classmethod
    def of(cls, x: npt.ArrayLike, y: npt.ArrayLike, *, classes: bool) -> Examples:
        """Makes examples from arrays.

        Args:
            x: [B, I] numbers.
            y: [B] or [B, O] numbers; for classes [B] labels of any kind.
            classes: Whether y holds classes.

        Raises:
            ShapeError: Their shapes do not match, or they hold anything but finite numbers.
        """
        samples = _numbers("x", x)
        answers = np.asarray(y)
        names: tuple[str, ...] = ()
        if classes:
            if answers.ndim == 2 and answers.shape[1] == 1:
                answers = answers[:, 0]
            if answers.ndim != 1:
                raise ShapeError(f"y must hold one class per sample, found {list(answers.shape)}.")
            kinds, number = np.unique(answers, return_inverse=True)
            if len(kinds) == 1:
                raise ShapeError(f"y must hold at least two classes, found only {kinds[0]!s}.")
            if len(kinds) * len(answers) > MOST_CELLS:
                raise ShapeError(
                    f"y holds {len(kinds):,} different classes in {len(answers):,} samples. Are "
                    "they numbers to predict?"
                )
            names = tuple(str(kind) for kind in kinds)
            answers = (number.reshape(-1, 1) == np.arange(len(kinds))).astype(np.float64)
        elif answers.ndim == 1:
            answers = answers[:, None]
        if samples.ndim != 2 or answers.ndim != 2 or len(samples) != len(answers):
            raise ShapeError(
                "examples need x of shape [B, I] and y of shape [B] or [B, O], "
                f"found {list(samples.shape)} and {list(np.shape(y))}."
            )
        if len(samples) == 0:
            raise ShapeError("there must be at least one example, found none.")
        return cls(samples, _numbers("y", answers), names)


def read_examples(path: Path, targets: Any, *, classes: bool) -> Examples:
    """Reads a CSV file with a header, or an NPZ file with the arrays x and y.

    Args:
        path: Ends in .csv or .npz.
        targets: Names of the CSV columns to predict, or one name; None for the last.
        classes: Whether the target is a class.

    Raises:
        OptionError: There are no such columns, or the suffix is neither .csv nor .npz.
        FileFormatError: The contents do not match the suffix.
        FileNotFoundError: There is no such file.
    """
    if path.suffix.lower() == ".npz":
        if targets is not None:
            raise OptionError(
                "targets is only for CSV files; an NPZ file has its targets in y.", "targets"
            )
        return _read_npz(path, classes)
    if path.suffix.lower() == ".csv":
        return _read_csv(path, targets, classes)
    raise OptionError(f"data = {show(str(path))} must end in .csv or .npz.", "data")


def split_examples(
    examples: Examples, test_fraction: float, seed: int, standardize: bool
) -> tuple[Examples, Examples | None]:
    """Holds out some examples for a test.

    Args:
        examples: All examples.
        test_fraction: The fraction to hold out, from 0 to below 1.
        seed: Decides which are held out.
        standardize: Whether to shift and scale inputs by the training examples' mean and
            deviation.

    Returns:
        The training examples, and the held-out ones or None.

    Raises:
        OptionError: A number is out of range, or one of the two would be empty.
    """
    fraction = read_option("test_fraction", test_fraction, Real(0, 1))
    read_option("standardize", standardize, Flag())
    count = len(examples.x)
    held_out = round(fraction * count)
    if held_out == count or (fraction > 0 and held_out == 0):
        raise OptionError(
            f"test_fraction = {fraction:g} holds out {held_out} of {count} examples. "
            "Training and test need at least one each.",
            "test_fraction",
        )
    split_seed = read_option("split_seed", seed, Whole(), 0)
    words = philox(split_seed, 0, np.arange(count), Purpose.SPLIT, 0)
    order = np.lexsort((np.arange(count), words[0]))
    train, test = np.sort(order[held_out:]), np.sort(order[:held_out])
    x = examples.x
    if standardize:
        spread = x[train].std(axis=0)
        x = (x - x[train].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    learn = replace(examples, x=x[train], y=examples.y[train])
    return learn, replace(examples, x=x[test], y=examples.y[test]) if held_out else None


def _read_npz(path: Path, classes: bool) -> Examples:
    x, y = read_npz(path, ("x", "y"))
    return _examples_of(path, x, y, classes)


def _read_csv(path: Path, targets: Any, classes: bool) -> Examples:
    try:
        with open_regular(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
            rows = [row for row in csv.reader(text, strict=True) if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise FileFormatError(f"{path}: this is not a CSV file: {error}") from error
    if len(rows) < 2:
        raise FileFormatError(
            f"{path}: the file needs a line of column names and at least one example."
        )
    header, *body = [[cell.strip() for cell in row] for row in rows]
    for number, row in enumerate(body, 2):
        if len(row) != len(header):
            raise FileFormatError(
                f"{path}: row {number} has {counted(len(row), 'cell')}, the header has "
                f"{len(header)}."
            )
    wanted = _target_columns(path, header, targets)
    if classes and len(wanted) != 1:
        raise OptionError(f"targets = {show(targets)} must be one column: the class.", "targets")
    inputs = [c for c in range(len(header)) if c not in wanted]
    if len(header) == 1:
        raise FileFormatError(
            f"{path}: the file has only one column, {show(header[0])}. Expected columns for "
            "inputs and targets, separated by commas."
        )
    if not inputs:
        raise OptionError(f"targets = {show(targets)} leaves no column for the inputs.", "targets")
    x = _cells(path, header, body, inputs)
    y: Any = [row[wanted[0]] for row in body] if classes else _cells(path, header, body, wanted)
    columns = tuple(header[c] for c in (inputs if classes else inputs + wanted))
    return replace(_examples_of(path, x, y, classes), columns=columns)


def _target_columns(path: Path, header: Sequence[str], targets: Any) -> list[int]:
    if targets is None:
        return [len(header) - 1]
    names = [targets] if isinstance(targets, str) else list(targets)
    for name in names:
        if name not in header:
            hint = did_you_mean(name, header)
            raise OptionError(f"targets: {path} has no column {show(name)}. {hint}", "targets")
    return [header.index(name) for name in names]


def _cells(
    path: Path, header: Sequence[str], body: Sequence[Sequence[str]], columns: Sequence[int]
) -> npt.NDArray[np.float64]:
    values = np.empty((len(body), len(columns)))
    for i, row in enumerate(body):
        for j, column in enumerate(columns):
            try:
                values[i, j] = float(row[column])
            except ValueError:
                values[i, j] = np.nan
            if not np.isfinite(values[i, j]):
                raise FileFormatError(
                    f"{path}: row {i + 2}, column {show(header[column])} holds "
                    f"{show(row[column])}. Expected a finite number."
                )
    return values


def _examples_of(path: Path, x: Any, y: Any, classes: bool) -> Examples:
    try:
        return Examples.of(x, y, classes=classes)
    except ShapeError as error:
        raise FileFormatError(f"{path}: {error}") from error


def _numbers(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    found = np.asarray(values)
    if found.dtype.kind not in "biuf":
        raise ShapeError(f"{name} must hold numbers, found {found.dtype}.")
    bad = np.argwhere(~np.isfinite(found))
    if len(bad) > 0:
        place = ", ".join(map(str, bad[0]))
        raise ShapeError(
            f"{name} must hold finite numbers only, found {name}[{place}] = {found[tuple(bad[0])]}."
        )
    large = np.argwhere(np.abs(found) > np.finfo(np.float32).max)
    if len(large) > 0:
        place = ", ".join(map(str, large[0]))
        raise ShapeError(
            f"{name}[{place}] = {found[tuple(large[0])]} is beyond the range of float32. "
            "Scale the numbers down."
        )
    return found.astype(np.float64)
