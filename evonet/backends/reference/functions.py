"""The NumPy twin of the kernels' activations and aggregations.

Every function repeats `kernels/nodes/activations.h` and `kernels/nodes/aggregations.h`
operation by operation, in the same order, so that both give equal bits; the
headers explain the formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evonet.backends.reference.expressions import activate_expression, aggregate_expression
from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.numerics.elementary import (
    EXP,
    EXP5,
    LN2,
    LN2_FIFTH,
    LOG1P_FIFTH,
    MINUS_LN2_FIFTH,
    ROUND,
    SELU,
    SIGMOID,
    FloatArray,
    IntArray,
    canonical,
    exp_double,
    exponential,
    from_bits,
    fused,
    log_double,
    log_float,
    polynomial,
    power_of_2,
    reduce,
    round_once,
    sin_of_5,
    tanh_double,
    tanh_of_5_halves,
    to_bits,
    wave_double,
    widen,
)


def activate(activation_id: int, z: FloatArray) -> FloatArray:
    """Applies an activation to every element of z; all NaNs of the result are canonical."""
    with np.errstate(all="ignore"):
        function, row = ACTIVATION_TABLE[activation_id], np.atleast_1d(z)
        if function.expression is not None:
            return activate_expression(function.expression.steps, row).reshape(z.shape)
        return _ACTIVATIONS[function.name](row).reshape(z.shape)


def aggregate(aggregation_id: int, weights: FloatArray, values: FloatArray) -> FloatArray:
    """Combines the weights [n] and values [n, B] of one node's links, in order, to [B] numbers.

    The bits of a NaN are unspecified, because every activation makes them canonical.
    """
    name, _, custom = AGGREGATION_TABLE[aggregation_id]
    if len(weights) == 0:
        return np.full(values.shape[1], 1 if name == "product" else 0, values.dtype)
    with np.errstate(all="ignore"):
        if custom is not None:
            return aggregate_expression(custom.steps, weights[:, None] * values)
        return _AGGREGATIONS[name](weights[:, None], values)


def preactivation(bias: ArrayLike, response: ArrayLike, s: FloatArray) -> FloatArray:
    """Computes bias + response * s: fused in float32, in two roundings in float64."""
    if s.dtype == np.float32:
        return fused(response, s, bias)
    with np.errstate(all="ignore"):
        total: NDArray[np.float64] = np.asarray(bias) + np.asarray(response) * s
        return total


# ---- kernels/nodes/activations.h ----


def _at_most(x: FloatArray, limit: float) -> FloatArray:
    return np.where(x < limit, x, x.dtype.type(limit))


def _at_least(x: FloatArray, limit: float) -> FloatArray:
    return np.where(x > limit, x, x.dtype.type(limit))


def _clip(x: FloatArray, limit: float) -> FloatArray:
    return _at_least(_at_most(x, limit), -limit)


def _above_minus_60(z: FloatArray) -> FloatArray:
    return np.where(z < -60.0, z.dtype.type(-60.0), z)


def _sigmoid(z: FloatArray) -> FloatArray:
    if z.dtype == np.float32:
        c = SIGMOID[-1]
        r, scale = reduce(_clip(z, 12), MINUS_LN2_FIFTH)
        return np.float32(c) / fused(polynomial(r, SIGMOID), scale, c)
    return 1 / (1 + exp_double(-_clip(5 * z, 60)))


def _tanh(z: FloatArray) -> FloatArray:
    if z.dtype == np.float32:
        return tanh_of_5_halves(_clip(z, 4))
    return tanh_double(_clip(2.5 * z, 60))


def _sin(z: FloatArray) -> FloatArray:
    return sin_of_5(_clip(z, 12)) if z.dtype == np.float32 else wave_double(_clip(5 * z, 60), 0)


def _gauss(z: FloatArray) -> FloatArray:
    if z.dtype == np.float32:
        square = z * z
        rounded = fused(square, -LN2_FIFTH[2], ROUND + 127)
        k = rounded - np.float32(ROUND + 127)
        r = fused(z, -z, k * np.float32(-float.fromhex("0x1.1beap-3")))
        r = fused(k, float.fromhex("0x1.00345ap-21"), r)
        y = fused(polynomial(r, EXP5), r, 1) * power_of_2(rounded)
        limit = np.float32(3.4)
        return np.where(square < limit * limit, y, np.float32(np.exp(-57.8)))
    z = _clip(z, 3.4)
    return exp_double(-5 * (z * z))


def _relu(z: FloatArray) -> FloatArray:
    return _at_least(z, 0)


def _elu(z: FloatArray) -> FloatArray:
    if z.dtype == np.float32:
        r, scale = reduce(_above_minus_60(z), LN2)
        y: FloatArray = fused(polynomial(r, EXP) * r, scale, scale - np.float32(1))
    else:
        y = exp_double(_above_minus_60(z)) - 1
    return canonical(np.where(z > 0, z, y))


def _lelu(z: FloatArray) -> FloatArray:
    return canonical(np.where(z > 0, z, z.dtype.type(0.005) * z))


def _selu(z: FloatArray) -> FloatArray:
    lambda_ = 1.0507009873554805
    lambda_alpha = lambda_ * 1.6732632423543772
    if z.dtype == np.float32:
        r, scale = reduce(_above_minus_60(z), LN2)
        below = (scale - np.float32(1)) * np.float32(lambda_alpha)
        y: FloatArray = fused(polynomial(r, SELU) * r, scale, below)
    else:
        y = lambda_alpha * (exp_double(_above_minus_60(z)) - 1)
    return canonical(np.where(z > 0, z.dtype.type(lambda_) * z, y))


def _softplus(z: FloatArray) -> FloatArray:
    if z.dtype == np.float32:
        z = _clip(z, 12)
        r, scale = reduce(-abs(z), LN2_FIFTH)
        slope = polynomial(r, EXP5)
        p = fused(slope, r, 1)
        lost = fused(slope, r, np.float32(1) - p) * scale
        e = p * scale
        y = fused(lost, 0.15, _at_least(z, 0))
        y = fused(polynomial(e, LOG1P_FIFTH), e * e, y)
        return fused(e, 0.2, y)
    return 0.2 * log_double(1 + exp_double(_clip(5 * z, 60)))


def _inv(z: FloatArray) -> FloatArray:
    return canonical(np.where(z == 0, z.dtype.type(0), z.dtype.type(1) / z))


def _log(z: FloatArray) -> FloatArray:
    x = _at_least(z, 1e-7)
    y = log_float(x) if x.dtype == np.float32 else log_double(x)
    return np.where(x - x == 0, y, x)


def _exp(z: FloatArray) -> FloatArray:
    return exponential(_clip(z, 60))


_ACTIVATIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "sigmoid": _sigmoid,
    "tanh": _tanh,
    "sin": _sin,
    "gauss": _gauss,
    "relu": _relu,
    "elu": _elu,
    "lelu": _lelu,
    "selu": _selu,
    "softplus": _softplus,
    "identity": canonical,
    "clamped": lambda z: _clip(z, 1),
    "inv": _inv,
    "log": _log,
    "exp": _exp,
    "abs": lambda z: canonical(abs(z)),
    "hat": lambda z: _at_least(z.dtype.type(1) - abs(z), 0),
    "square": lambda z: canonical(z * z),
    "cube": lambda z: canonical(z * z * z),
}


# ---- kernels/nodes/aggregations.h ----


def _sum(w: FloatArray, v: FloatArray) -> FloatArray:
    total: FloatArray = np.zeros_like(v[0])
    if v.dtype == np.float32:
        for product in widen(w) * widen(v):  # exact
            total = round_once(product, widen(total))
    else:
        for i in range(len(w)):
            total = total + w[i] * v[i]
    return total


def _mean(w: FloatArray, v: FloatArray) -> FloatArray:
    return _sum(w, v) / v.dtype.type(len(w))


def _fold(w: FloatArray, v: FloatArray, step: Callable[[Any, Any], Any]) -> FloatArray:
    total: FloatArray = w[0] * v[0]
    for i in range(1, len(w)):
        total = step(total, w[i] * v[i])
    return total


def _median(w: FloatArray, v: FloatArray) -> FloatArray:
    x: FloatArray = w * v
    zero, n = x.dtype.type(0), len(x)
    ordered = x == x
    middle: FloatArray
    if n <= 2:
        middle = (zero + x[0] + (x[1] if n == 2 else zero)) / x.dtype.type(n)
    else:
        x = from_bits(order_of_bits(np.sort(order_of_bits(to_bits(x)), axis=0)))
        middle = x[n // 2] if n % 2 else (x[n // 2 - 1] + x[n // 2]) / x.dtype.type(2)
    return canonical(np.where(ordered.all(axis=0), middle, x.dtype.type(np.nan)))


def order_of_bits(bits: IntArray) -> IntArray:
    """Maps bits to integers that sort as the numbers do, -0 before +0, and back."""
    width = 8 * bits.itemsize - 1
    return bits ^ ((bits >> width) & ((1 << width) - 1))


_AGGREGATIONS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "sum": _sum,
    "product": lambda w, v: _fold(w, v, lambda total, x: total * x),
    "max": lambda w, v: _fold(w, v, lambda total, x: np.where(x > total, x, total)),
    "min": lambda w, v: _fold(w, v, lambda total, x: np.where(x < total, x, total)),
    "maxabs": lambda w, v: _fold(w, v, lambda total, x: np.where(abs(x) > abs(total), x, total)),
    "median": _median,
    "mean": _mean,
}
