"""Examples to learn from, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.errors import FileFormatError, ShapeError

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
        loss: What networks that learn make smaller; see `Network.loss`.
        validation: Examples that are never learned from, and decide when a network has learned
            enough; or None.
    """

    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    classes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    loss: str = "squared"
    validation: Examples | None = None

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


def examples_of(path: Path, x: Any, y: Any, classes: bool) -> Examples:
    """Makes examples from what a file holds; errors name the file."""
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
