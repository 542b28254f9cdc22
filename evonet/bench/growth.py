"""How cost grows: exponents fitted to measurements, and where a curve bends.

Cost that is proportional to size is a straight line of slope 1 in a log-log plot; a slope is an
exponent. At the small end fixed costs make every curve flat, so the exponent that describes the
algorithm is that of the upper half of the axis. A bend is where the slope between neighbouring
points is not the expected one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from evonet.bench.timing import Timing

# A slope between two neighbours that differs by more than this is a bend; less is noise.
BEND: Final = 0.25


@dataclass(frozen=True)
class Fit:
    """A power law y = factor * x ** exponent."""

    exponent: float
    factor: float
    spread: float  # the largest factor by which a point lies off the line; 1 if none does

    def at(self, x: float) -> float:
        """The cost at x."""
        return self.factor * math.pow(x, self.exponent)


def fit_power_law(x: Sequence[float], y: Sequence[float]) -> Fit:
    """Fits a power law to points [K] by least squares of logarithms.

    Raises:
        ValueError: There are fewer than two different x, or some numbers are not above 0.
    """
    if len(set(x)) < 2 or min(*x, *y) <= 0:
        raise ValueError(f"no power law fits x={list(x)}, y={list(y)}.")
    across, up = np.log(np.asarray(x, np.float64)), np.log(np.asarray(y, np.float64))
    off = across - across.mean()
    exponent = float((off * (up - up.mean())).sum() / (off * off).sum())
    height = float(up.mean() - exponent * across.mean())
    rest = up - (height + exponent * across)
    return Fit(exponent, math.exp(height), math.exp(float(np.abs(rest).max())))


def fit_tail(x: Sequence[float], y: Sequence[float]) -> Fit:
    """Fits the points in the upper half of the axis, at least the last two; x ascends."""
    middle = math.sqrt(x[0] * x[-1]) * (1 - 1e-9)
    first = min(sum(value < middle for value in x), len(x) - 2)
    return fit_power_law(x[max(0, first) :], y[max(0, first) :])


@dataclass(frozen=True)
class Bend:
    """Two neighbouring points between which cost grows otherwise than expected."""

    begin: float
    end: float
    exponent: float  # the slope between them


@dataclass(frozen=True)
class GrowthLine:
    """One curve, with the timings [K] at each x."""

    name: str
    timings: tuple[Timing, ...]


@dataclass(frozen=True)
class Growth:
    """Cost against one size, all others fixed."""

    name: str  # short and unique
    title: str  # what grows, and what is fixed
    axis: str  # what x counts
    unit: str  # what was timed
    x: tuple[float, ...]  # [K] ascending
    lines: tuple[GrowthLine, ...]  # a curve for each kind of work
    expected: float  # the exponent that theory predicts
    if_flatter: str  # why cost may grow less between some points
    if_steeper: str  # why it may grow more

    def medians(self, line: GrowthLine) -> list[float]:
        """[K] seconds at each x."""
        return [timing.median for timing in line.timings]

    def tail(self, line: GrowthLine) -> Fit:
        """The power law of the upper half."""
        return fit_tail(self.x, self.medians(line))

    def bends(self, line: GrowthLine) -> list[Bend]:
        """Where the slope differs from the expected one by more than `BEND`."""
        points = list(zip(self.x, self.medians(line), strict=True))
        slopes = [
            Bend(x1, x2, math.log(y2 / y1) / math.log(x2 / x1))
            for (x1, y1), (x2, y2) in pairwise(points)
        ]
        return [slope for slope in slopes if abs(slope.exponent - self.expected) > BEND]

    def reasons(self) -> list[str]:
        """Why curves bend; empty if none does."""
        slopes = [bend.exponent for line in self.lines for bend in self.bends(line)]
        said = []
        if any(slope < self.expected for slope in slopes):
            said.append(f"Flatter where {self.if_flatter}.")
        if any(slope > self.expected for slope in slopes):
            said.append(f"Steeper where {self.if_steeper}.")
        return said
