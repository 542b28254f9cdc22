"""What samples should be: one class each, or any number of labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evonet.errors import ShapeError
from evonet.learning.wide.rows import read_rows
from evonet.messages import show


class Targets(NamedTuple):
    """The classes of each sample.

    Attributes:
        start: [n + 1].
        labels: Positions in `classes`, ascending within a sample.
        classes: [C] what the positions stand for.
        single: Whether every sample has exactly one class.
    """

    start: NDArray[np.int64]
    labels: NDArray[np.int32]
    classes: NDArray[Any]
    single: bool

    def take(self, which: NDArray[np.int64]) -> Targets:
        """Those of some samples, in the order given."""
        counts = self.start[which + 1] - self.start[which]
        start = np.concatenate([[0], np.cumsum(counts)])
        at = np.repeat(self.start[which] - start[:-1], counts) + np.arange(start[-1])
        return self._replace(start=start, labels=self.labels[at])


def read_targets(
    y: Any, num_samples: int, num_classes: int | None, classes: NDArray[Any] | None = None
) -> Targets:
    """Reads classes [n], or labels [n, C] as a matrix of zeros and others.

    Args:
        y: Classes of any type, or an indicator matrix, dense or sparse.
        num_samples: How many there must be.
        num_classes: If given, classes are the numbers below it.
        classes: What classes there are; None for those of y.

    Raises:
        ShapeError: They do not fit the samples, or are no classes.
    """
    if y is None:
        raise ShapeError("requires y to be passed, but the target y is None.")
    if not hasattr(y, "tocsr"):
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1 and num_classes in (None, 1):
            y = _as_column(y)
        if y.ndim == 1:
            _check_length(len(y), num_samples)
            return _read_classes(y, num_classes, classes)
    if y.ndim != 2:
        raise ShapeError(f"y has the shape {list(y.shape)}. Expected [n] or [n, classes].")
    _check_length(y.shape[0], num_samples)
    width = num_classes if classes is None else len(classes)
    if width not in (None, y.shape[1]):
        raise ShapeError(
            f"y has {y.shape[1]:,} columns. Expected one for each of {width:,} classes."
        )
    rows = read_rows(y, "y")
    kept = rows.values != 0
    counted = np.concatenate([[0], np.cumsum(kept)])
    found = np.arange(y.shape[1]) if classes is None else classes
    return Targets(counted[rows.start].astype(np.int64), rows.columns[kept], found, False)


def _as_column(y: NDArray[Any]) -> NDArray[Any]:
    import warnings

    try:
        from sklearn.exceptions import DataConversionWarning as Kind
    except ImportError:
        Kind = UserWarning
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y "
        "to (n_samples, ), for example using ravel().",
        Kind,
        stacklevel=4,
    )
    return y.ravel()


def _check_length(found: int, expected: int) -> None:
    if found != expected:
        raise ShapeError(f"y has {found:,} rows, and X has {expected:,}.")


def _read_classes(
    y: NDArray[Any], num_classes: int | None, classes: NDArray[Any] | None
) -> Targets:
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ShapeError("Input y contains NaN or infinity.")
    if y.dtype.kind in "fc" and not (y == np.round(y.real)).all():
        raise ShapeError("Unknown label type: continuous. y holds numbers that are not whole.")
    if y.dtype.kind == "O" and not all(isinstance(each, (str, int, bool)) for each in y.tolist()):
        raise ShapeError("Unknown label type: y holds objects that are neither text nor numbers.")
    if num_classes is not None:
        if y.dtype.kind not in "iufb" or y.size == 0 or y.min() < 0 or y.max() >= num_classes:
            raise ShapeError(f"y must hold whole numbers from 0 to {num_classes - 1}.")
        labels = y.astype(np.int32)
        known = np.arange(num_classes) if classes is None else classes
    elif classes is None:
        known, places = np.unique(y, return_inverse=True)
        labels = places.astype(np.int32)
    else:
        known = classes
        labels = np.minimum(np.searchsorted(known, y), len(known) - 1).astype(np.int32)
        strange = known[labels] != y
        if strange.any():
            first = y[strange][0]
            raise ShapeError(f"y holds {show(first)}, which is not one of the known classes.")
    start = np.arange(len(y) + 1, dtype=np.int64)
    return Targets(start, np.ascontiguousarray(labels, np.int32), known, True)
