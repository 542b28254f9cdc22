"""From files and arrays to the examples of a task: reading, encoding and splitting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from evonet.config.rules import Flag, Maybe, OneOf, Real, Whole
from evonet.errors import FileFormatError, OptionError
from evonet.files.npz import read_npz
from evonet.messages import counted, did_you_mean, show
from evonet.numerics.philox import Purpose, philox
from evonet.tasks.encoding import (
    Column,
    Encoding,
    Missing,
    check_categories,
    describe_written_numbers,
    find_column,
    is_free_text,
    read_numbers,
    sort_values,
)
from evonet.tasks.examples import Examples, examples_of
from evonet.tasks.identifiers import describe_identifiers, find_identifiers
from evonet.tasks.options import FilePath, read_option
from evonet.tasks.tables import ENDINGS, Header, Table, is_missing, read_table

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Data:
    """All examples, before they are split.

    Attributes:
        examples: The examples; their inputs are not scaled yet, and 0 where `gaps` is.
        gaps: [B, I] whether an input is missing.
        encoding: How a table became these numbers; its vectors are still open.
        notes: What people should know about it.
    """

    examples: Examples
    gaps: npt.NDArray[np.bool_]
    encoding: Encoding
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parts:
    """Examples by what they are for, ready to be learnt from; `Supervised` describes them."""

    train: Examples
    validation: Examples | None
    test: Examples | None
    encoding: Encoding


def load_data(
    data: Any,
    targets: Any,
    *,
    classes: bool,
    missing: Missing = "error",
    categories: Sequence[str] = (),
    exclude: Sequence[str] = (),
    keep: Sequence[str] = (),
    header: Header = "auto",
) -> Data:
    """Reads examples; the options of `evonet.tasks.regression` describe the arguments.

    Raises:
        OptionError: There are no such columns, or the suffix is none of .csv, .tsv and .npz.
        FileFormatError: The contents do not match the suffix.
        FileNotFoundError: There is no such file.
    """
    read_option("missing", missing, OneOf(*get_args(Missing)))
    read_option("header", header, OneOf(*get_args(Header)))
    if isinstance(data, tuple) and len(data) == 2:
        return data_of(Examples.of(*data, classes=classes))
    path = read_option("data", data, FilePath())
    if path.suffix.lower() == ".npz":
        if targets is not None:
            raise OptionError(
                "targets is only for CSV files; an NPZ file has its targets in y.", "targets"
            )
        x, y = read_npz(path, ("x", "y"))
        return data_of(examples_of(path, x, y, classes))
    if path.suffix.lower() not in ENDINGS:
        raise OptionError(f"data = {show(str(path))} must end in .csv or .npz.", "data")
    table = read_table(path, header)
    return encode_table(
        table,
        targets,
        classes,
        missing,
        _names("categories", categories),
        _names("exclude", exclude),
        _names("keep", keep),
    )


def read_examples(path: Path, targets: Any, *, classes: bool) -> Examples:
    """Reads a CSV file, or an NPZ file with the arrays x and y; see `load_data`."""
    return load_data(path, targets, classes=classes).examples


def data_of(examples: Examples) -> Data:
    """Takes examples whose inputs are numbers already; without names, positions decide."""
    inputs = examples.input_names or tuple(f"c{i + 1}" for i in range(examples.x.shape[1]))
    outputs = () if examples.classes else examples.output_names
    encoding = Encoding(
        columns=tuple(map(Column, inputs)),
        targets=outputs or tuple(f"y{o + 1}" for o in range(examples.y.shape[1])),
        classes=examples.classes,
        has_header=bool(examples.input_names),
    )
    if examples.classes:
        encoding = replace(encoding, targets=("y",))
    return Data(examples, np.zeros(examples.x.shape, np.bool_), encoding)


def encode_table(
    table: Table,
    targets: Any,
    classes: bool,
    missing: Missing,
    categories: Sequence[str],
    exclude: Sequence[str],
    keep: Sequence[str],
) -> Data:
    """Finds the encoding of a table and applies it; `load_data` describes the arguments."""
    wanted = find_targets(table, targets)
    if classes and len(wanted) != 1:
        raise OptionError(f"targets = {show(targets)} must be one column: the class.", "targets")
    if len(table.names) == 1:
        raise FileFormatError(
            f"{table.path}: the file has only one column, {show(table.names[0])}. Expected columns "
            "for inputs and targets, separated by commas."
        )
    for option, names in (("categories", categories), ("exclude", exclude), ("keep", keep)):
        _check_columns(table, names, option)
    inputs = [name for name in table.names if name not in wanted and name not in exclude]
    if not inputs:
        raise OptionError(f"targets = {show(targets)} leaves no column for the inputs.", "targets")
    doubtful = [name for name in inputs if name not in keep and name not in categories]
    identifiers = find_identifiers(table, doubtful)
    if len(identifiers) < len(inputs):
        inputs = [name for name in inputs if name not in identifiers]
    else:  # all there is to learn from
        identifiers = []
    table, notes = _without_gaps(table, inputs, wanted, missing)
    if identifiers:
        notes.insert(0, describe_identifiers(identifiers))
    columns = tuple(find_column(table, name, name in categories) for name in inputs)
    check_categories(table, columns)
    encoding = Encoding(
        columns=columns,
        targets=tuple(wanted),
        missing=missing,
        has_header=table.has_header,
    )
    raw = encoding.raw_inputs(table)
    gaps = np.isnan(raw)
    x = np.where(gaps, 0.0, raw)
    if classes:
        labels = table.column(wanted[0])
        order = {name: i for i, name in enumerate(sort_values(set(labels)))}
        _check_classes(table, Column(wanted[0], tuple(order)))
        examples = examples_of(table.path, x, [order[label] for label in labels], True)
        encoding = replace(encoding, classes=tuple(order))
        examples = replace(examples, classes=encoding.classes)
    else:
        examples = examples_of(table.path, x, read_numbers(table, wanted), False)
    names = encoding.input_names + (() if classes else encoding.targets)
    dates = [column for column in columns if column.dates]
    if dates:
        count = sum(len(column.input_names) for column in dates)
        listed = ", ".join(column.name for column in dates)
        cycles = "year, week and day" if any(c.dates == "time" for c in dates) else "year and week"
        notes.append(f"dates: {listed} become {count} inputs: days, and places in {cycles}")
    text = [column for column in columns if column.values]
    if text:
        count = sum(len(column.input_names) for column in text)
        listed = ", ".join(column.name for column in text)
        notes.append(f"categories: {listed} become {counted(count, 'input')} of 0 or 1")
    return Data(replace(examples, columns=names), gaps, encoding, (*table.notes, *notes))


def _check_classes(table: Table, target: Column) -> None:
    """Refuses classes of which nothing can be learned.

    Raises:
        FileFormatError: There is only one, or few of them occur twice.
    """
    classes = target.values
    if len(classes) == 1:
        raise FileFormatError(
            f"{table.path}: column {show(target.name)} holds nothing but {show(classes[0])}. "
            "Expected at least two classes. --target chooses another column."
        )
    if is_free_text(table, target):
        hint = describe_written_numbers(classes) or "--target chooses another column."
        raise FileFormatError(
            f"{table.path}: column {show(target.name)} has {len(classes):,} different texts in "
            f"{counted(len(table.rows), 'row')}, too many for classes. {hint}"
        )


def find_targets(table: Table, targets: Any) -> list[str]:
    """Returns the names of the columns to predict; None stands for the last.

    Raises:
        OptionError: There is no such column.
    """
    if targets is None:
        return [table.names[-1]]
    names = _names("targets", targets)
    _check_columns(table, names, "targets")
    return list(dict.fromkeys(names))


def check_split(
    test_fraction: object,
    validation_fraction: object,
    split_seed: object,
    standardize: object,
    solved: object,
) -> None:
    """Checks options before a file is read, so that all faults of a config are found at once.

    Raises:
        OptionError: An option is out of range.
    """
    read_option("test_fraction", test_fraction, Real(0, 1))
    read_option("validation_fraction", validation_fraction, Real(0, 1))
    read_option("split_seed", split_seed, Whole(), 0)
    read_option("standardize", standardize, Flag())
    read_option("solved", solved, Maybe(Real()))


def split_data(
    data: Data,
    *,
    test_fraction: float,
    split_seed: int = 0,
    standardize: bool = False,
    standardize_targets: bool = False,
    validation_fraction: float = 0.0,
    class_weights: Any = None,
) -> Parts:
    """Divides examples into parts, alike in classes, and fills, shifts and scales them.

    Means, deviations and weights are those of the training examples alone. The options of
    `evonet.tasks.regression` describe the arguments.

    Raises:
        OptionError: A number is out of range, or a part would be empty.
    """
    examples, count = data.examples, len(data.examples.x)
    for name, flag in (
        ("standardize", standardize),
        ("standardize_targets", standardize_targets),
    ):
        read_option(name, flag, Flag())
    held_out = _part("test_fraction", test_fraction, count)
    checked = _part("validation_fraction", validation_fraction, count - held_out)
    order = _shuffled(examples, read_option("split_seed", split_seed, Whole(), 0))
    rows = {
        "test": np.sort(order[:held_out]),
        "validation": np.sort(order[held_out : held_out + checked]),
        "train": np.sort(order[held_out + checked :]),
    }
    train = rows["train"]
    encoding = _scaled(data, train, standardize, standardize_targets)
    x = encoding.inputs(np.where(data.gaps, np.nan, examples.x))
    y = examples.y
    if not encoding.classes:
        y = (y - np.asarray(encoding.target_shift)) / np.asarray(encoding.target_scale)
    weights = _class_weights(encoding.classes, y[train], class_weights)
    parts = {
        name: replace(examples, x=x[part], y=y[part] if name == "test" else y[part] * weights)
        if len(part)
        else None
        for name, part in rows.items()
    }
    assert parts["train"] is not None
    return Parts(parts["train"], parts["validation"], parts["test"], encoding)


def _part(name: str, fraction: float, count: int) -> int:
    """Returns how many of so many examples a fraction is, at least one unless it is 0."""
    share = read_option(name, fraction, Real(0, 1))
    part = round(share * count)
    if part == count or (share > 0 and part == 0):
        verb = "holds out" if name == "test_fraction" else "takes"
        raise OptionError(
            f"{name} = {share:g} {verb} {part} of {count} examples. Training and "
            f"{name.removesuffix('_fraction')} need at least one each; 0 does without.",
            name,
        )
    return part


def _shuffled(examples: Examples, seed: int) -> Positions:
    """Orders examples at random, so that every stretch has about the same share of each class."""
    count = np.arange(len(examples.x))
    words = philox(seed, 0, count, Purpose.SPLIT, 0)
    order = np.lexsort((count, words[0]))
    if not examples.classes:
        return order
    labels = examples.y[order].argmax(axis=1)
    by_class = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels, minlength=len(examples.classes))
    rank = np.empty(len(order))
    rank[by_class] = np.concatenate([(np.arange(n) + 0.5) / max(n, 1) for n in sizes])
    return order[np.argsort(rank, kind="stable")]


def _scaled(data: Data, train: Positions, inputs: bool, targets: bool) -> Encoding:
    """Completes an encoding by means and deviations of training examples."""
    x, gaps = data.examples.x[train], data.gaps[train]
    if gaps.any():
        present = np.maximum((~gaps).sum(axis=0), 1)
        mean = x.sum(axis=0) / present
        spread = np.sqrt((np.where(gaps, 0.0, x - mean) ** 2).sum(axis=0) / present)
    else:
        mean, spread = x.mean(axis=0), x.std(axis=0)
    encoding = replace(
        data.encoding,
        fill=tuple(mean.tolist()),
        shift=tuple(mean.tolist()) if inputs else (0.0,) * len(mean),
        scale=_scales(spread) if inputs else (1.0,) * len(mean),
    )
    if encoding.classes:
        return encoding
    y = data.examples.y[train]
    outputs = len(y.T)
    return replace(
        encoding,
        target_shift=tuple(y.mean(axis=0).tolist()) if targets else (0.0,) * outputs,
        target_scale=_scales(y.std(axis=0)) if targets else (1.0,) * outputs,
    )


def _scales(spread: npt.NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(np.where(spread > 0, spread, 1.0).tolist())


def _class_weights(
    classes: Sequence[str], y: npt.NDArray[np.float64], option: Any
) -> npt.NDArray[np.float64]:
    """Returns [O] how much an example of each class counts."""
    weights = np.ones(y.shape[1])
    if option in (None, "none"):
        return weights
    if option == "balanced":
        counts = np.maximum((y > 0).sum(axis=0), 1)
        return np.asarray(len(y) / (len(classes) * counts), np.float64)
    if not isinstance(option, Mapping):
        message = 'must be "none", "balanced" or a table of classes and weights.'
        raise OptionError(f"class_weights = {show(option)} {message}", "class_weights")
    for name, weight in option.items():
        if name not in classes:
            hint = did_you_mean(name, classes)
            message = f"class_weights: there is no class {show(name)}. {hint}"
            raise OptionError(message, "class_weights")
        weights[classes.index(name)] = read_option("class_weights", weight, Real(above=0))
    return weights


def _without_gaps(
    table: Table, inputs: Sequence[str], targets: Sequence[str], missing: Missing
) -> tuple[Table, list[str]]:
    """Leaves out the rows that cannot be used.

    Raises:
        FileFormatError: Cells are missing, and that is an error.
    """
    empty: dict[str, list[int]] = {}
    for name in (*inputs, *targets):
        rows = [row for row, cell in enumerate(table.column(name)) if is_missing(cell)]
        if rows:
            empty[name] = rows
    if not empty:
        return table, []
    listed = ", ".join(f"{counted(len(rows), 'cell')} of {show(n)}" for n, rows in empty.items())
    if missing == "error":
        name, rows = next(iter(empty.items()))
        found = table.column(name)[rows[0]]
        raise FileFormatError(
            f"{table.place(rows[0], name)} holds {show(found)}. Expected a finite number or a "
            f"text. Missing: {listed}. The option missing of [task], such as --set "
            'task.missing=fill, can "fill" inputs by the means of their columns, or "drop" rows.'
        )
    unusable = {row for name, rows in empty.items() for row in rows if name in targets}
    if missing == "drop":
        unusable = {row for rows in empty.values() for row in rows}
    usable = [row for row in range(len(table.rows)) if row not in unusable]
    if not usable:
        raise FileFormatError(f"{table.path}: every row misses something: {listed}.")
    notes = [f"missing: {listed}"]
    if unusable:
        notes.append(f"{counted(len(unusable), 'row')} of {len(table.rows):,} are left out")
    if missing == "fill" and len(empty) > len(set(empty) & set(targets)):
        notes.append("missing inputs are filled by the means of the training examples")
    lines = tuple(map(table.line, usable))
    return replace(table, rows=[table.rows[r] for r in usable], lines=lines), notes


def _names(option: str, names: Any) -> list[str]:
    if isinstance(names, str):
        return [names]
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise OptionError(f"{option} = {show(names)} must be a list of columns.", option)
    return list(names)


def _check_columns(table: Table, names: Sequence[str], option: str) -> None:
    for name in names:
        if name not in table.names:
            hint = did_you_mean(name, table.names)
            raise OptionError(f"{option}: {table.path} has no column {show(name)}. {hint}", option)
