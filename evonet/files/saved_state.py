"""Settings and arrays out of a file, read one by one and believed only as far as they fit."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from evonet.errors import CheckpointError
from evonet.messages import show

# Counters start below this, so that a run can count for ever.
LARGEST_COUNT: Final = 2**60


class SavedState:
    """What a checkpoint holds; messages do not name the file.

    Every method raises `CheckpointError` if something is not what it should be.

    Attributes:
        settings: What JSON can hold, by name.
        arrays: Arrays, by name.
    """

    def __init__(self, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.settings = settings
        self.arrays = arrays

    def expect(self, name: str, fits: object, expected: str) -> None:
        """Raises unless a setting fits."""
        check(fits, f"{name} is {show(self.settings[name])}. Expected {expected}.")

    def whole(self, name: str, least: int, most: int) -> int:
        """Reads a whole number."""
        return check_whole(name, self.settings[name], least, most)

    def counter(self, name: str) -> int:
        """Reads a number that counts up."""
        return self.whole(name, 0, LARGEST_COUNT)

    def real(self, name: str, least: float = -np.inf) -> float:
        """Reads a finite number."""
        return check_real(name, self.settings[name], least)

    def array(self, name: str, dtype: DTypeLike, length: int | None) -> NDArray[Any]:
        """Reads an array of one dimension; None for any length."""
        array = self.arrays[name]
        fits = array.dtype == dtype and array.ndim == 1 and length in (None, len(array))
        check(
            fits,
            f"{name} is {array.dtype} of shape {list(array.shape)}. "
            f"Expected {np.dtype(dtype)} of shape [{'any' if length is None else length}].",
        )
        return array

    def rows(
        self, name: str, dtype: DTypeLike, count: int
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Reads rows of different lengths: all values, and where each row starts."""
        values = self.array(name, dtype, None)
        starts = self.array(f"{name}_start", np.int64, count + 1)
        ascends = starts[0] == 0 and starts[-1] == len(values) and (starts[1:] >= starts[:-1]).all()
        check(ascends, f"{name}_start does not ascend from 0 to {len(values)}.")
        return values, starts


def check(fits: object, message: str) -> None:
    """Raises a `CheckpointError` unless something fits."""
    if not fits:
        raise CheckpointError(message)


def check_whole(name: str, value: Any, least: int, most: int) -> int:
    """Returns a whole number in a range, and nothing that merely equals one."""
    fits = type(value) is int and least <= value <= most
    check(fits, f"{name} is {show(value)}. Expected {least} to {most}.")
    return int(value)


def check_real(name: str, value: Any, least: float = -np.inf) -> float:
    """Returns a finite float."""
    fits = type(value) is float and bool(np.isfinite(value)) and value >= least
    check(fits, f"{name} is {show(value)}. Expected a finite number, as a float.")
    return float(value)


def ascends(values: NDArray[Any], least: int, end: int) -> bool:
    """Whether numbers ascend strictly from at least `least` to below `end`."""
    return bool(values[0] >= least and values[-1] < end and (values[1:] > values[:-1]).all())
