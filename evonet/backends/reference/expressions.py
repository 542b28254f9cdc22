"""Runs the steps of expressions: the NumPy twin of `kernels/numerics/expression.h`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evonet.functions.expressions.tree import COMPARISONS
from evonet.numerics.elementary import (
    EXP,
    LN2,
    PI_FLOAT,
    ROUND,
    ROUND_64,
    FloatArray,
    canonical,
    cos_before,
    exp_near_0,
    fused,
    log_double,
    log_float,
    polynomial,
    power_of_2,
    rounded_log2,
    sin_float,
    tanh_double,
    wave_near_0,
)

if TYPE_CHECKING:
    from evonet.functions.expressions.steps import ExpressionSteps, Pass

_TANH: Final = tuple(
    map(
        float.fromhex,
        ("0x1.3edf98p-6", "-0x1.b82b62p-5", "0x1.110c38p-3", "-0x1.55554ep-2", "0x1p+0"),
    )
)
_HALF_PI: Final = tuple(
    map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2e037073p-69"))
)
_QUARTER: Final = float.fromhex("0x1.45f306dc9c883p-1")  # one over half of pi
_WIDEST: Final = 1e6


def activate_expression(steps: ExpressionSteps, x: FloatArray) -> FloatArray:
    """Computes an activation for every element of an array that is not a scalar."""
    values: dict[int, Any] = {}
    _take(steps, steps.last, values, {"x": x})
    return canonical(np.broadcast_to(values[steps.result], x.shape))


def aggregate_expression(steps: ExpressionSteps, products: FloatArray) -> FloatArray:
    """Computes an aggregation [B] of the products [n, B] of at least one link."""
    values: dict[int, Any] = {}
    shape = products.shape[1:]
    inputs = {"count": np.full(shape, len(products), products.dtype)}
    for each in steps.passes:
        _join(steps, each, values, inputs, products)
    _take(steps, steps.last, values, inputs)
    return np.broadcast_to(values[steps.result], shape)


def differentiate_expression(steps: ExpressionSteps, products: FloatArray) -> FloatArray:
    """Computes the derivative [n, B] of an aggregation by the product [n, B] of each link."""
    values: dict[int, Any] = {}
    inputs = {"count": np.full(products.shape[1:], len(products), products.dtype)}
    *before, last = steps.passes
    for each in before:
        _join(steps, each, values, inputs, products)
    _take(steps, last.before, values, inputs)
    terms = np.empty_like(products)
    for i, x in enumerate(products):
        _take(steps, last.each, values, {**inputs, "x": x})
        terms[i] = values[steps.result]
    return canonical(terms)


def _join(
    steps: ExpressionSteps,
    each: Pass,
    values: dict[int, Any],
    inputs: dict[str, FloatArray],
    products: FloatArray,
) -> None:
    """Makes one pass over all links."""
    _take(steps, each.before, values, inputs)
    for i, x in enumerate(products):
        _take(steps, each.each, values, {**inputs, "x": x})
        for position in each.reductions:
            op, (arg,), _ = steps.steps[position]
            value = np.broadcast_to(values[arg], x.shape)
            if i > 0:
                values[position] = _JOIN[op](values[position], value)
            else:
                values[position] = 0 + value if op == "sum_of" else value


def _take(
    steps: ExpressionSteps,
    which: Iterable[int],
    values: dict[int, Any],
    inputs: dict[str, FloatArray],
) -> None:
    real = next(iter(inputs.values())).dtype.type
    for position in which:
        op, args, value = steps.steps[position]
        if op in inputs:
            values[position] = inputs[op]
        elif op == "number":
            values[position] = np.array([value]).astype(real)
        else:
            values[position] = _TAKE[op](*(values[arg] for arg in args))


def _exp(x: FloatArray) -> FloatArray:
    if x.dtype != np.float32:
        x = _at_least(_as(x, -746), _at_most(_as(x, 710), x))
        k = rounded_log2(x) - (ROUND_64 + 1023)
        return _times_power_of_2(exp_near_0(x, k), k)
    x = _at_least(_as(x, -104), _at_most(_as(x, 89), x))
    hi, lo, inverse = LN2
    k = fused(x, inverse, ROUND + 127) - np.float32(ROUND + 127)
    r = fused(k, -lo, fused(k, -hi, x))
    return _times_power_of_2(fused(polynomial(r, EXP), r, 1), k)


def _times_power_of_2(x: FloatArray, k: FloatArray) -> FloatArray:
    if x.dtype == np.float32:
        base: Any = np.float32(ROUND + 127)
        rounded: FloatArray = fused(k, 0.5, base)
    else:
        base = ROUND_64 + 1023
        rounded = k * 0.5 + base
    rest = k - (rounded - base)
    return x * power_of_2(rounded) * power_of_2(rest + base)


def _log(x: FloatArray) -> FloatArray:
    if x.dtype == np.float32:
        small = x < np.float32(2.0**-126)
        y = log_float(np.where(small, x * np.float32(2**23), x), np.where(small, 23, 0))
    else:
        small = x < 2.0**-1022
        y = log_double(np.where(small, x * 2.0**52, x), np.where(small, 52.0, 0.0))
    outside = np.where(x == 0, _as(x, -np.inf), _as(x, np.nan))
    return np.where(x > 0, np.where(x < np.inf, y, x), outside)


def _tanh(x: FloatArray) -> FloatArray:
    if x.dtype != np.float32:
        return tanh_double(_limited(x, 60))
    size = _at_most(_as(x, 10), abs(x))
    base = np.float32(ROUND + 127)
    rounded = fused(size - np.float32(0.1725), float.fromhex("0x1.715476p+1"), base)
    r = fused(rounded - base, -float.fromhex("0x1.62e43p-2"), size)
    h = r * polynomial(r * r, _TANH)
    scale = power_of_2(rounded)
    n = fused(h, scale + np.float32(1), scale - np.float32(1))
    return np.copysign(n / (n + fused(h, -2, 2)), x)


def _sin(x: FloatArray) -> FloatArray:
    z = _limited(x, _WIDEST)
    return _or_nan(sin_float(z) if x.dtype == np.float32 else _wave(z, 0), x)


def _cos(x: FloatArray) -> FloatArray:
    z = _limited(x, _WIDEST)
    if x.dtype != np.float32:
        return _or_nan(_wave(z, 1), x)
    rounded = fused(z, PI_FLOAT[3], ROUND)
    past = fused(rounded - np.float32(ROUND), -PI_FLOAT[0], z)
    return _or_nan(cos_before(z, np.where(past < 0, rounded - np.float32(1), rounded)), x)


def _wave(x: FloatArray, ahead: int) -> FloatArray:
    rounded = x * _QUARTER + ROUND_64
    k = rounded - ROUND_64
    hi = x - k * _HALF_PI[0]
    middle = k * _HALF_PI[1]
    r = hi - middle
    back = r - hi
    rest = ((hi - (r - back)) - (middle + back)) - k * _HALF_PI[2]
    total = r + rest
    return wave_near_0(total, (r - total) + rest, rounded, ahead)


def _or_nan(y: FloatArray, x: FloatArray) -> FloatArray:
    return np.where(x - x == 0, y, _as(x, np.nan))


def _floor(x: FloatArray) -> FloatArray:
    whole = x.dtype.type(2**23 if x.dtype == np.float32 else 2**52)
    size = abs(x)
    near = np.copysign((size + whole) - whole, x)
    return np.where(size < whole, np.where(near > x, near - x.dtype.type(1), near), x)


def _limited(x: FloatArray, limit: float) -> FloatArray:
    return _at_least(_as(x, -limit), _at_most(_as(x, limit), x))


def _at_most(x: FloatArray, limit: FloatArray) -> FloatArray:
    return np.where(x < limit, x, limit)


def _at_least(x: FloatArray, limit: FloatArray) -> FloatArray:
    return np.where(x > limit, x, limit)


def _as(x: FloatArray, value: float) -> FloatArray:
    return np.full_like(x, value)


_TAKE: Final[dict[str, Callable[..., Any]]] = {
    **{op: getattr(operator, op) for op in ("neg", "add", "sub", "mul", *COMPARISONS)},
    "exp": _exp,
    "log": _log,
    "sin": _sin,
    "cos": _cos,
    "tanh": _tanh,
    "sqrt": np.sqrt,
    "abs": abs,
    "floor": _floor,
    "not": np.logical_not,
    "div": operator.truediv,
    "min": lambda a, b: _at_most(b, a),
    "max": lambda a, b: _at_least(b, a),
    "and": np.logical_and,
    "or": np.logical_or,
    "if": np.where,
}
_JOIN: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "sum_of": operator.add,
    "product_of": operator.mul,
    "max_of": lambda total, x: _at_least(x, total),
    "min_of": lambda total, x: _at_most(x, total),
}
