"""What control tasks are and share, as in `kernels/control/control.h`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evonet.numerics.elementary import FloatArray

Flags = NDArray[np.bool_]


class Step(NamedTuple):
    """The result of a step."""

    state: FloatArray  # [S, E] the states after it
    reward: FloatArray  # [E] the rewards
    ended: Flags  # [E] whether the episode has ended


class Task(NamedTuple):
    """What a control task does to all episodes at once."""

    reset: Callable[[FloatArray, Any], FloatArray]
    step: Callable[[FloatArray, FloatArray], Step]
    observe: Callable[[FloatArray], FloatArray] = lambda state: state


def largest(output: FloatArray) -> FloatArray:
    """The number of the largest output, the first of equals."""
    best, chosen = output[0], np.zeros_like(output[0])
    for i in range(1, len(output)):
        larger = output[i] > best
        chosen = np.where(larger, chosen.dtype.type(i), chosen)
        best = np.where(larger, output[i], best)
    number: FloatArray = chosen
    return number


def between(x: FloatArray, low: float, high: float) -> FloatArray:
    """Clips as Python's min and max do: a NaN becomes the upper limit."""
    real = x.dtype.type
    x = np.where(x < real(high), x, real(high))
    held: FloatArray = np.where(x > real(low), x, real(low))
    return held


def held(x: FloatArray, limit: float) -> FloatArray:
    """Clips to both sides of zero, as `between` does."""
    return between(x, -limit, limit)


def drawn(unit: FloatArray, low: float, high: float) -> FloatArray:
    """Scales numbers of [0, 1) to an interval."""
    real = unit.dtype.type
    drawn: FloatArray = real(low) + (real(high) - real(low)) * unit
    return drawn


def wrapped(x: FloatArray) -> FloatArray:
    """The same angle within half a turn of zero."""
    real = x.dtype.type
    turns = x * real(0.15915494309189535)
    if x.dtype == np.float32:
        k = (turns + real(12582912)) - real(12582912)
        wrapped: FloatArray = (x - k * real(6.28125)) - k * real(0.0019353071795864769)
    else:
        k = (turns + 6755399441055744.0) - 6755399441055744.0
        wrapped = x - k * 6.283185307179586
    return wrapped


def runge_kutta(
    y: FloatArray, seconds: float, derive: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Integrates over some seconds by the classical method of fourth order."""
    real = y.dtype.type
    whole, half = real(seconds), real(0.5) * real(seconds)
    slope = [derive(y)]
    slope.append(derive(y + half * slope[0]))
    slope.append(derive(y + half * slope[1]))
    slope.append(derive(y + whole * slope[2]))
    twice = real(2) * slope[1] + real(2) * slope[2]
    after: FloatArray = y + (whole / real(6)) * ((slope[0] + twice) + slope[3])
    return after
