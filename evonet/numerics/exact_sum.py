"""Sums that are rounded once, so that they do not depend on how a machine adds."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from evonet.installation import load_native

# Fewer numbers are faster to add one by one.
FEW: Final = 2000
# Bits that are added at a time: the sum of 2^33 such numbers fits into 64 bits.
BITS: Final = 30
# Numbers that are added at a time, few enough to stay in a cache.
PIECE: Final = 1 << 14


def exact_sum(values: npt.NDArray[np.float64], threads: int = 1) -> float:
    """The sum of all values, rounded once: what `math.fsum` gives, but for whole arrays.

    Args:
        values: Finite numbers, [N].
        threads: How many may add, 0 for all available; the sum is the same.

    Raises:
        OverflowError: The sum is beyond the largest number.
    """
    native = load_native()
    if native is None:
        return add_in_pieces(values)
    total: float = native.exact_sum(values, threads)
    if math.isinf(total):
        raise OverflowError("the sum is beyond the largest number")
    return total


def add_in_pieces(values: npt.NDArray[np.float64]) -> float:
    """Does without the extension.

    The leading bits of all numbers are added as whole numbers, then the bits that follow, until
    nothing is left.
    """
    if len(values) < FEW:
        return math.fsum(values.tolist())
    most = math.frexp(float(np.abs(values).max()))[1]  # all are below 2^most
    total, unit = 0, most
    for begin in range(0, len(values), PIECE):
        part, finer = _add_bits(values[begin : begin + PIECE], most)
        if finer < unit:
            total, unit = total << (unit - finer), finer
        total += part << (finer - unit)
    return float(total << unit) if unit >= 0 else total / (1 << -unit)


def _add_bits(rest: npt.NDArray[np.float64], unit: int) -> tuple[int, int]:
    """The exact sum of numbers below 2^unit, as (m, e) with the sum m * 2^e."""
    total = 0
    while rest.any():
        unit -= BITS
        leading = np.trunc(_shifted(rest, -unit))
        total = (total << BITS) + int(leading.astype(np.int64).sum())
        rest = rest - _shifted(leading, unit)
    return total, unit


def _shifted(values: npt.NDArray[np.float64], bits: int) -> npt.NDArray[np.float64]:
    """Values times 2^bits; a product is many times faster, where there is such a number."""
    return values * 2.0**bits if abs(bits) <= 1000 else np.ldexp(values, bits)


def mean(values: npt.NDArray[np.float64], threads: int = 1) -> float:
    """The mean, rounded once, so that it does not depend on how a machine adds.

    Args:
        values: [N] finite, at least one.
        threads: How many may add; see `exact_sum`.
    """
    try:
        return exact_sum(values, threads) / len(values)
    except OverflowError:  # a sum of numbers near 1e308; their mean lies between them
        scaled = exact_sum(values * 2.0**-64) / len(values) * 2.0**64
        return min(max(scaled, float(values.min())), float(values.max()))


def group_means(values: npt.NDArray[np.float64], starts: npt.NDArray[np.int64]) -> list[float]:
    """The mean of each group, as `mean` gives it.

    Args:
        values: [N] finite, group by group.
        starts: [G + 1] where each group begins, and N. No group is empty.
    """
    native = load_native()
    bounds = starts.tolist()
    if native is not None:
        sums = native.exact_group_sums(values, starts).tolist()
        if all(map(math.isfinite, sums)):
            sizes = (b - a for a, b in pairwise(bounds))
            return [total / size for total, size in zip(sums, sizes, strict=True)]
    return [mean(values[a:b]) for a, b in pairwise(bounds)]
