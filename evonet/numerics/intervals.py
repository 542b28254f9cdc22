"""Intervals that hold the true value in 99 of 100 cases, with the same bits on every machine.

Only additions, products, quotients, square roots and evonet's own exponential are used, in a fixed
order: files that state an interval have the same bytes everywhere.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from evonet.numerics.elementary import exponential

# The normal quantile of an interval that covers 99 %.
QUANTILE: Final = 2.5758293035489004
# What lies beyond either end.
BEYOND: Final = 0.005
HALVINGS: Final = 50

Reals = npt.NDArray[np.float64]


def student_quantile(freedom: int) -> float:
    """Student's quantile of a 99 % interval, by its expansion around the normal one.

    Args:
        freedom: Degrees of freedom, at least 1.
    """
    q = QUANTILE
    return q + (q**3 + q) / (4 * freedom) + (5 * q**5 + 16 * q**3 + 3 * q) / (96 * freedom**2)


def proportion_interval(hits: int, count: int) -> tuple[float, float]:
    """Returns the exact (Clopper-Pearson) interval of a proportion.

    Args:
        hits: How often it happened.
        count: Of how many times, at least 1.
    """
    low = 0.0 if hits == 0 else 1 - _most_likely(count - hits, count)
    return low, 1.0 if hits == count else _most_likely(hits, count)


def _most_likely(hits: int, count: int) -> float:
    """The largest probability at which at most so many hits are not too unlikely."""
    low, high = hits / count, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _at_most(hits, count, middle) > BEYOND:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _at_most(hits: int, count: int, probability: float) -> float:
    """The binomial probability of at most so many hits.

    Terms are relative to the largest one, and those that are too small to matter are left out.
    """
    mode = min(count, int((count + 1) * probability))
    reach = 40 + int(12 * math.sqrt(count * probability * (1 - probability)))
    first, last = max(0, mode - reach), min(count, mode + reach)
    if hits < first:
        return 0.0
    odds = probability / (1 - probability)
    up = np.arange(mode, last, dtype=np.float64)
    down = np.arange(mode, first, -1, dtype=np.float64)
    above = np.cumprod((count - up) / (up + 1) * odds)
    below = np.cumprod(down / (count - down + 1) / odds)
    terms = np.concatenate([below[::-1], [1.0], above])
    sums = np.cumsum(terms)
    return float(sums[min(hits, last) - first] / sums[-1])


def r2_interval(errors: Reals, deviations: Reals) -> tuple[float, float]:
    """Returns the interval of r2 = 1 - sum(errors) / sum(deviations).

    The quotient's logarithm is nearly normal, with the variance that the delta method gives.

    Args:
        errors: [B] squared errors of the answers, B at least 2.
        deviations: [B] squared deviations of the right answers from their mean, some above 0.
    """
    count = len(errors)
    quotient = _sum(errors) / _sum(deviations)
    if not 0 < quotient < math.inf:
        return (1.0, 1.0) if quotient == 0 else (-math.inf, 1.0)
    influence = errors / (_sum(errors) / count) - deviations / (_sum(deviations) / count)
    deviation = math.sqrt(_sum(influence * influence) / (count - 1))
    width = student_quantile(count - 1) * deviation / math.sqrt(count)
    factor = float(exponential(np.array([min(width, 60.0)]))[0])
    return 1 - quotient * factor, 1 - quotient / factor


def _sum(values: Reals) -> float:
    return float(np.cumsum(values)[-1])  # one after the other, on every machine
