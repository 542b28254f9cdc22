"""The NumPy twin of `kernels/nodes/derivatives.h`: slopes of activations and aggregations.

The same operations in the same order as the header, so that both give equal bits; the header
explains the formulas and what happens at ties and kinks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.backends.reference.expressions import (
    activate_expression,
    differentiate_expression,
)
from evonet.backends.reference.functions import activate, order_of_bits
from evonet.functions.registry import ACTIVATION_IDS, ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.numerics.elementary import cos_of_5, to_bits, wave_double

Values = npt.NDArray[Any]


def slope(activation_id: int, z: Values, y: Values) -> Values:
    """The derivative of an activation at z, where its value is y."""
    function = ACTIVATION_TABLE[activation_id]
    with np.errstate(all="ignore"):
        if function.expression is not None:
            return activate_expression(function.expression.derivative.steps, z)
        found: Values = _SLOPES[function.name](z, y)
        return found


def spread(
    aggregation_id: int, weights: Values, values: Values, joined: Values, d: Values
) -> Values:
    """Distributes the adjoint of an aggregate over the links that it joined.

    Args:
        aggregation_id: Which aggregation.
        weights: [n] of the links.
        values: [n, B] that the links read.
        joined: [B] what the aggregation gave.
        d: [B] its adjoint.

    Returns:
        [n, B], the adjoints of the products of weights and values.
    """
    name, _, custom = AGGREGATION_TABLE[aggregation_id]
    with np.errstate(all="ignore"):
        x: Values = weights[:, None] * values
        if custom is not None:
            terms: Values = d * differentiate_expression(custom.derivative.steps, x)
            return terms
        return _SPREADS[name](x, joined, d)


# ---- activations ----


def _within(z: Values, limit: float, inside: Values) -> Values:
    return np.where(abs(z) < z.dtype.type(limit), inside, z.dtype.type(0))


def _wave(z: Values, _: Values) -> Values:
    real = z.dtype.type
    cosine: Values = cos_of_5(z) if z.dtype == np.float32 else wave_double(real(5) * z, 1)
    return _within(z, 12, real(5) * cosine)


def _sign(z: Values) -> Values:
    real = z.dtype.type
    sign: Values = np.where(z > 0, real(1), np.where(z < 0, real(-1), real(0)))
    return sign


def _step(above: float, below: float) -> Callable[[Values, Values], Values]:
    return lambda z, _: np.where(z > 0, z.dtype.type(above), z.dtype.type(below))


_LAMBDA = 1.0507009873554805
_SLOPES: dict[str, Callable[[Values, Values], Values]] = {
    "sigmoid": lambda z, y: _within(z, 12, z.dtype.type(5) * (y * (1 - y))),
    "tanh": lambda z, y: z.dtype.type(2.5) * ((1 - y) * (1 + y)),
    "sin": _wave,
    "gauss": lambda z, y: _within(z, 3.4, z.dtype.type(-10) * (z * y)),
    "relu": _step(1, 0),
    "elu": lambda z, y: np.where(z > 0, z.dtype.type(1), y + 1),
    "lelu": _step(1, 0.005),
    "selu": lambda z, y: np.where(
        z > 0, z.dtype.type(_LAMBDA), y + z.dtype.type(_LAMBDA * 1.6732632423543772)
    ),
    "softplus": lambda z, _: _within(z, 12, activate(ACTIVATION_IDS["sigmoid"], z)),
    "identity": lambda z, _: np.ones_like(z),
    "clamped": lambda z, _: _within(z, 1, np.ones_like(z)),
    "inv": lambda z, y: -(y * y),
    "log": lambda z, _: np.where(z > z.dtype.type(1e-7), 1 / z, z.dtype.type(0)),
    "exp": lambda z, y: _within(z, 60, y),
    "abs": lambda z, _: _sign(z),
    "hat": lambda z, _: _within(z, 1, -_sign(z)),
    "square": lambda z, _: z + z,
    "cube": lambda z, _: z.dtype.type(3) * (z * z),
}


# ---- aggregations ----


def _product(x: Values, _: Values, d: Values) -> Values:
    before = np.ones_like(x)
    for i in range(1, len(x)):
        before[i] = x[0] if i == 1 else before[i - 1] * x[i - 1]
    behind, found = np.ones_like(d), np.empty_like(x)
    for i in reversed(range(len(x))):
        found[i] = d * (before[i] * behind)
        behind = x[i] * behind
    return found


def _first(x: Values, chosen: npt.NDArray[np.bool_], d: Values) -> Values:
    """All of d to the first link that was chosen."""
    left, found = d, np.zeros_like(x)
    for i in range(len(x)):
        found[i] = np.where(chosen[i], left, x.dtype.type(0))
        left = np.where(chosen[i], x.dtype.type(0), left)
    return found


def _median(x: Values, _: Values, d: Values) -> Values:
    n = len(x)
    if n <= 2:
        return np.broadcast_to(d / x.dtype.type(n), x.shape)
    rank = np.argsort(order_of_bits(to_bits(x)), axis=0, kind="stable")
    middle = rank[n // 2 : n // 2 + 1] if n % 2 else rank[n // 2 - 1 : n // 2 + 1]
    found = np.zeros_like(x)
    np.put_along_axis(found, middle, (d / x.dtype.type(len(middle)))[None], axis=0)
    return np.where(np.isnan(x).any(axis=0), x.dtype.type(0), found)


_SPREADS: dict[str, Callable[[Values, Values, Values], Values]] = {
    "sum": lambda x, _, d: np.broadcast_to(d, x.shape),
    "product": _product,
    "max": lambda x, joined, d: _first(x, x == joined, d),
    "min": lambda x, joined, d: _first(x, x == joined, d),
    "maxabs": lambda x, joined, d: _first(x, abs(x) == abs(joined), d),
    "median": _median,
    "mean": lambda x, _, d: np.broadcast_to(d / x.dtype.type(len(x)), x.shape),
}
