"""Maps values to places on the page, and picks round numbers along an axis."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

# Smaller steps cannot be told apart by their numbers.
TINIEST: Final = 1e-300


class Scale(NamedTuple):
    """Maps values low to high onto places start to end."""

    low: float  # the value at the start
    high: float  # the value at the end, greater than low
    start: float  # the place of low
    end: float  # the place of high

    def __call__(self, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Returns the places of values, of any shape."""
        share = (np.asarray(values, np.float64) - self.low) / (self.high - self.low)
        placed: npt.NDArray[np.float64] = self.start + share * (self.end - self.start)
        return placed

    def at(self, value: float) -> float:
        """Returns the place of one value."""
        return float(self(value))


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Returns about so many round numbers, in steps of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / about
    if not TINIEST <= rough < math.inf:
        return []
    power = 10.0 ** math.floor(math.log10(rough))
    steps = [power * size for size in (1, 2, 5, 10)]
    fitting = next(i for i, step in enumerate(steps) if step >= rough * 0.999)
    for step in reversed(steps[: fitting + 1]):  # a range may lie between two round numbers
        first = math.ceil(low / step - 1e-9)
        last = math.floor(high / step + 1e-9)
        if first <= last:
            return [k * step for k in range(first, last + 1)]
    return []


def room(low: float, high: float, share: float = 0.05) -> tuple[float, float]:
    """Widens a range a little, or an empty one by more, so that nothing touches the frame."""
    margin = share * (high - low)
    if margin < max(TINIEST, 1e-14 * abs(low)) or not math.isfinite(margin):
        margin = 0.5 * abs(low) if abs(low) > 100 * TINIEST else 0.5
    return low - margin, high + margin
