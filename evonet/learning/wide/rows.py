"""Samples as lists of the columns that they have, from dense arrays and sparse matrices alike."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evonet.backends.wide_level import Lists
from evonet.errors import ShapeError

MOST_COLUMNS = 2**31 - 2


class Rows(NamedTuple):
    """Rows of a sparse matrix; columns ascend within a row.

    Attributes:
        start: [n + 1].
        columns: [entries].
        values: [entries].
        num_columns: The matrix' width.
    """

    start: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    num_columns: int

    def __len__(self) -> int:
        return len(self.start) - 1

    def take(self, which: NDArray[np.int64]) -> Rows:
        """Some rows, in the order given."""
        counts = self.start[which + 1] - self.start[which]
        start = np.concatenate([[0], np.cumsum(counts)])
        at = np.repeat(self.start[which] - start[:-1], counts) + np.arange(start[-1])
        return Rows(start, self.columns[at], self.values[at], self.num_columns)

    def with_bias(self) -> tuple[Lists, NDArray[np.float32]]:
        """Lists and values of all rows, with a last column that is 1 in each."""
        ends = self.start[1:]
        columns = np.insert(self.columns, ends, self.num_columns)
        values = np.insert(self.values, ends, np.float32(1))
        start = self.start + np.arange(len(self.start))
        return Lists(start[:-1].copy(), start[1:].copy(), columns), values

    def dense(self) -> NDArray[np.float32]:
        """The matrix, with all its zeros."""
        full = np.zeros((len(self), self.num_columns), np.float32)
        full[np.repeat(np.arange(len(self)), np.diff(self.start)), self.columns] = self.values
        return full

    def digest(self) -> str:
        """Names the contents."""
        digest = hashlib.sha256(str((len(self), self.num_columns)).encode())
        for array in (self.start, self.columns, self.values):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


def read_rows(x: Any, owner: str = "WideClassifier") -> Rows:
    """Reads samples [n, columns], dense or sparse.

    Args:
        x: Numbers; a SciPy matrix or array of any format, or what NumPy makes an array of.
        owner: Who reads them, for messages.

    Raises:
        ShapeError: They are not finite numbers in two dimensions, or there are none.
    """
    if hasattr(x, "tocsr") and hasattr(x, "nnz"):
        return _read_sparse(x.tocsr(), owner)
    array = np.asarray(x)
    if array.ndim == 1:
        raise ShapeError(
            f"X has the shape {list(array.shape)}. Expected 2D array, got 1D array instead. "
            "Reshape your data: X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one sample."
        )
    if array.ndim != 2:
        raise ShapeError(f"X has the shape {list(array.shape)}. Expected two dimensions.")
    _check_size(array.shape, owner)
    numbers = _check_numbers(array)
    sample, column = np.nonzero(numbers)
    start = np.searchsorted(sample, np.arange(len(numbers) + 1)).astype(np.int64)
    return Rows(start, column.astype(np.int32), numbers[sample, column], array.shape[1])


def _read_sparse(x: Any, owner: str) -> Rows:
    _check_size(x.shape, owner)
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    values = _check_numbers(np.asarray(x.data))
    return Rows(x.indptr.astype(np.int64), x.indices.astype(np.int32), values, int(x.shape[1]))


def _check_size(shape: tuple[int, ...], owner: str) -> None:
    for count, what in zip(shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ShapeError(
                f"Found array with 0 {what}(s) (shape=({shape[0]}, {shape[1]})) while a minimum of "
                f"1 is required by {owner}."
            )
    if shape[1] > MOST_COLUMNS:
        raise ShapeError(f"X has {shape[1]:,} columns. Expected at most {MOST_COLUMNS:,}.")


def _check_numbers(array: NDArray[Any]) -> NDArray[np.float32]:
    if np.iscomplexobj(array):
        raise ShapeError("Complex data not supported: X holds complex numbers.")
    try:
        with np.errstate(over="ignore"):
            numbers = array.astype(np.float32)
    except (TypeError, ValueError) as error:
        # The built-in type says whether X holds something that is no number at all.
        kind = TypeError if isinstance(error, TypeError) else ShapeError
        raise kind(f"X must hold numbers: {error}.") from None
    if not np.isfinite(numbers).all():
        raise ShapeError("X holds NaN, inf or a number that float32 cannot hold.")
    return numbers
