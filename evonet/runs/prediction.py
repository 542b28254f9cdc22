"""Predictions: a champion answers the rows of a new table, encoded as in its run.

champion = read_champion("runs/iris-001/champion.json")
predict_file(champion, "new.csv").answers      # ["setosa", ...]
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evonet.errors import FileFormatError, OptionError, ShapeError
from evonet.files.npz import read_npz
from evonet.images.data import load_images
from evonet.messages import counted, show
from evonet.numerics.elementary import exponential
from evonet.numerics.intervals import proportion_interval, r2_interval
from evonet.runs.champion import Champion
from evonet.tasks.encoding import Encoding
from evonet.tasks.image_encoding import ImageEncoding
from evonet.tasks.tables import ENDINGS, Table, is_missing, is_number, read_table

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Prediction:
    """The answers to a table.

    Attributes:
        table: The table, with the names that the champion knows.
        answers: [B] the class, or the first of the numbers, of each row; None where a row misses
            what the champion needs.
        outputs: [B, O] what the network gave: probabilities of classes, or numbers in the units of
            the examples; NaN where a row misses something.
        names: [O] what the outputs are.
        encoding: How rows became inputs.
    """

    table: Table
    answers: list[str | float | None]
    outputs: Reals
    names: tuple[str, ...]
    encoding: Encoding | ImageEncoding

    @property
    def num_unanswered(self) -> int:
        """Rows without an answer."""
        return self.answers.count(None)

    def scores(self) -> dict[str, float]:
        """Compares the answers with the table's own, if it has them.

        Returns:
            "examples", "accuracy" with "low" and "high", the ends of its 99 % interval; or
            "examples", "loss", "r2", "low" and "high".
        """
        targets = self.encoding.targets
        if not set(targets) <= set(self.table.names):
            return {}
        right = [self.table.column(name) for name in targets]
        known = [
            row
            for row, answer in enumerate(self.answers)
            if answer is not None and not any(is_missing(column[row]) for column in right)
        ]
        if not known:
            return {}
        if self.encoding.classes:
            hits = sum(right[0][row] == self.answers[row] for row in known)
            low, high = proportion_interval(hits, len(known))
            return {
                "examples": len(known),
                "accuracy": hits / len(known),
                "low": low,
                "high": high,
            }
        if not all(is_number(column[row]) for column in right for row in known):
            return {}
        y = np.array([[float(column[row]) for column in right] for row in known])
        errors = ((self.outputs[known] - y) ** 2).sum(axis=1)
        deviations = ((y - y.mean(axis=0)) ** 2).sum(axis=1)
        error, spread = float(errors.sum()), float(deviations.sum())
        scores = {"examples": len(known), "loss": error / len(known)}
        if spread > 0:
            low, high = r2_interval(errors, deviations)
            scores |= {"r2": 1 - error / spread, "low": low, "high": high}
        return scores

    def rows(self) -> Iterator[list[str]]:
        """Yields a table with the answers: names first, then each row with what was predicted."""
        targets, classes = self.encoding.targets, self.encoding.classes
        added = ["prediction", *(f"p({name})" for name in self.names)]
        if not classes:
            several = len(targets) > 1
            added = [f"prediction {name}" if several else "prediction" for name in targets]
        yield [*self.table.names, *added]
        for cells, answer, outputs in zip(
            self.table.rows, self.answers, self.outputs.tolist(), strict=True
        ):
            if answer is None:
                yield [*cells, *("" for _ in added)]
            elif classes:
                yield [*cells, str(answer), *(f"{p:.6g}" for p in outputs)]
            else:
                yield [*cells, *(f"{value:.9g}" for value in outputs)]


def predict_file(champion: Champion, path: str | os.PathLike[str]) -> Prediction:
    """Lets a champion answer a file: CSV with the columns of its run, or NPZ with an array x.

    A champion that evolved on images answers an NPZ file with an array images, a PNG file, or a
    folder of them.

    Args:
        champion: What `read_champion` returned.
        path: The file.

    Raises:
        OptionError: The champion did not evolve on a table, or the file has another ending.
        FileFormatError: A column is missing, or a cell holds what the champion cannot know.
        OSError: There is no such file, or it cannot be read.
    """
    encoding = champion.encoding
    if encoding is None:
        raise OptionError(
            "the champion has no encoding: it did not evolve on a table of examples, or in an "
            "older evonet. Evolve again, or compile the champion and call it with arrays."
        )
    file = Path(path)
    if isinstance(encoding, ImageEncoding):
        return _predict_images(champion, encoding, file)
    if file.suffix.lower() == ".npz":
        table, raw = _read_arrays(file, encoding)
    elif file.suffix.lower() in ENDINGS:
        table = encoding.match(read_table(file, "auto" if encoding.has_header else "no"))
        raw = encoding.raw_inputs(table)
    else:
        raise OptionError(f"{file}: must end in .csv or .npz.")
    gaps = np.isnan(raw).any(axis=1)
    if gaps.any() and encoding.missing == "error":
        row = int(np.argmax(gaps))
        raise FileFormatError(
            f"{file}: {counted(int(gaps.sum()), 'row')} with missing cells, the first of them row "
            f'{table.line(row)}. The run had none; with missing = "fill" or "drop" in its [task], '
            "its champion could deal with them."
        )
    outputs = champion.compile()(encoding.inputs(raw))[0].astype(np.float64)
    outputs = _probabilities(outputs) if encoding.classes else encoding.in_units(outputs)
    if encoding.missing == "drop":
        outputs[gaps] = np.nan
    answers: list[str | float | None] = [
        None if np.isnan(row).any() else _answer(encoding, row) for row in outputs
    ]
    return Prediction(table, answers, outputs, encoding.output_names, encoding)


def _predict_images(champion: Champion, encoding: ImageEncoding, path: Path) -> Prediction:
    found = load_images(path, labels=False)
    try:
        features = encoding.front(champion.task_state)(encoding.inputs(found.images))
    except ShapeError as error:
        raise FileFormatError(f"{path}: {error}") from error
    outputs = _probabilities(champion.compile()(features)[0].astype(np.float64))
    answers: list[str | float | None] = [_answer(encoding, row) for row in outputs]
    rows = [[name] for name in found.names]
    names: tuple[str, ...] = ("image",)
    if found.labels:
        names = ("image", *encoding.targets)
        rows = [[name, label] for name, label in zip(found.names, found.labels, strict=True)]
    table = Table(path, names, rows, False)
    return Prediction(table, answers, outputs, encoding.output_names, encoding)


def _answer(encoding: Encoding | ImageEncoding, outputs: Reals) -> str | float:
    if encoding.classes:
        return encoding.classes[int(outputs.argmax())]
    return float(outputs[0])


def _read_arrays(path: Path, encoding: Encoding) -> tuple[Table, Reals]:
    (x,) = read_npz(path, ("x",))
    expected = len(encoding.columns)
    if x.ndim != 2 or x.shape[1] != expected or x.dtype.kind not in "biuf":
        raise FileFormatError(
            f"{path}: x has shape {list(x.shape)} and holds {x.dtype}. Expected numbers of shape "
            f"[B, {expected}]."
        )
    text = [column.name for column in encoding.columns if column.values or column.dates]
    if text:
        raise FileFormatError(
            f"{path}: an NPZ file has no text, which {show(text[0])} needs. Use a CSV file."
        )
    names = tuple(column.name for column in encoding.columns)
    table = Table(path, names, [[f"{value:.9g}" for value in row] for row in x.tolist()], False)
    return replace(table, lines=tuple(range(len(x)))), x.astype(np.float64)


def _probabilities(outputs: Reals) -> Reals:
    """The softmax of outputs [B, O], the same on every machine."""
    powers = exponential(outputs - outputs.max(axis=1, keepdims=True))
    total = np.zeros(len(outputs))
    for column in powers.T:
        total = total + column
    return np.asarray(powers / total[:, None], np.float64)
