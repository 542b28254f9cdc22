"""The activations' formulas in float64, and errors in units in the last place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[Any]


def clip(x: FloatArray, limit: float) -> FloatArray:
    """Clips as neat-python does: NaN becomes the limit."""
    x = np.where(x < limit, x, limit)
    return np.where(x > -limit, x, -limit)


LAMBDA, ALPHA = 1.0507009873554805, 1.6732632423543772
FORMULAS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "sigmoid": lambda z: 1 / (1 + np.exp(-clip(5 * z, 60))),
    "tanh": lambda z: np.tanh(clip(2.5 * z, 60)),
    "sin": lambda z: np.sin(clip(5 * z, 60)),
    "gauss": lambda z: np.exp(-5 * clip(z, 3.4) ** 2),
    "relu": lambda z: np.where(z > 0, z, 0),
    "elu": lambda z: np.where(z > 0, z, np.expm1(z)),
    "lelu": lambda z: np.where(z > 0, z, 0.005 * z),
    "selu": lambda z: LAMBDA * np.where(z > 0, z, ALPHA * np.expm1(z)),
    "softplus": lambda z: 0.2 * np.logaddexp(0, clip(5 * z, 60)),
    "identity": lambda z: z,
    "clamped": lambda z: clip(z, 1),
    "inv": lambda z: np.where(z == 0, 0, 1 / z),
    "log": lambda z: np.log(np.where(z > 1e-7, z, 1e-7)),
    "exp": lambda z: np.exp(clip(z, 60)),
    "abs": lambda z: abs(z),
    "hat": lambda z: np.where(1 - abs(z) > 0, 1 - abs(z), 0),
    "square": lambda z: z * z,
    "cube": lambda z: z * z * z,
}


def formula(name: str, z: FloatArray) -> FloatArray:
    """Evaluates an activation's formula in float64, rounding nothing that float32 could see."""
    with np.errstate(all="ignore"):
        return FORMULAS[name](z.astype(np.float64))


def ulp(x: FloatArray, dtype: Any) -> FloatArray:
    """Returns the distance of neighbouring numbers of a type at x, as float64."""
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.where(np.isfinite(x), x, info.max))[1] - 1
    exponent = np.clip(exponent, info.minexp, info.maxexp - 1)
    return np.ldexp(1.0, exponent - info.nmant)


def error(y: FloatArray, exact: FloatArray) -> FloatArray:
    """Measures float32 results in units in the last place of the exact ones.

    A NaN where none should be, and the other way round, counts as infinitely wrong.
    Infinity is right where the exact value rounds to it, and else the number after the
    largest.
    """
    top = 2.0**128
    with np.errstate(all="ignore"):
        found = clip(y.astype(np.float64), top)
        wrong = abs(found - clip(exact, top)) / ulp(exact, np.float32)
    return np.where(
        np.isnan(y) | np.isnan(exact), np.where(np.isnan(y) & np.isnan(exact), 0, np.inf), wrong
    )
