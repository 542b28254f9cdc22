"""The NumPy twin of the kernels' activations and aggregations.

Every function repeats `kernels/activations.h`, `kernels/elementary.h` and
`kernels/aggregations.h` operation by operation, in the same order, so that both
give equal bits; the headers say why a formula looks as it does. Float32 needs a
fused multiply-add, which NumPy lacks: `fused` emulates it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evonet.functions import ACTIVATIONS, AGGREGATIONS

FloatArray = NDArray[np.floating[Any]]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.signedinteger[Any]]


def fused(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> Float32Array:
    """Computes a * b + c of float32 numbers with a single rounding.

    In float64 the product is exact. The sum is rounded to odd: truncated, then its
    last bit set if anything was lost. That leaves the second rounding, to float32,
    as the only one that counts.
    """
    with np.errstate(all="ignore"):
        product = _widen(a) * _widen(b)
        addend = _widen(c)
        total = product + addend
        part = total - product
        lost = ((product - (total - part)) + (addend - part)) * total
        truncated = total.view(np.int64) + np.where(lost < 0.0, -1, 0)
        sticky = ((lost < 0.0) | (lost > 0.0)).astype(np.int64)
        odd: NDArray[np.float64] = (truncated | sticky).view(np.float64)
        return odd.astype(np.float32)


def canonical(x: FloatArray) -> FloatArray:
    """Replaces every NaN by the one quiet NaN that all backends use."""
    return np.where(x == x, x, np.array(np.nan, x.dtype))


def activate(activation_id: int, z: FloatArray) -> FloatArray:
    """Applies an activation to every element.

    Args:
        activation_id: A position in `evonet.functions.ACTIVATIONS`.
        z: Float32 or float64, of any shape.

    Returns:
        An array of the shape and type of `z`; all NaNs in it are canonical.

    Raises:
        IndexError: There is no such activation.
    """
    with np.errstate(all="ignore"):
        return _ACTIVATIONS[ACTIVATIONS[activation_id].name](np.atleast_1d(z)).reshape(z.shape)


def aggregate(aggregation_id: int, weights: FloatArray, values: FloatArray) -> FloatArray:
    """Joins the weighted inputs of one node, in link order.

    Args:
        aggregation_id: A position in `evonet.functions.AGGREGATIONS`.
        weights: One per link, [n].
        values: What each link's source holds, [n, B].

    Returns:
        One number per sample, [B]. The bits of a NaN are unspecified, because every
        activation settles them.

    Raises:
        IndexError: There is no such aggregation.
    """
    name = AGGREGATIONS[aggregation_id].name
    if len(weights) == 0:
        return np.full(values.shape[1], 1 if name == "product" else 0, values.dtype)
    with np.errstate(all="ignore"):
        return _AGGREGATIONS[name](weights[:, None], values)


def preactivation(bias: ArrayLike, response: ArrayLike, s: FloatArray) -> FloatArray:
    """Computes bias + response * s: fused in float32, in two roundings in float64."""
    if s.dtype == np.float32:
        return fused(response, s, bias)
    with np.errstate(all="ignore"):
        total: NDArray[np.float64] = np.asarray(bias) + np.asarray(response) * s
        return total


def sine(x: FloatArray) -> FloatArray:
    """sin(x) for |x| <= 60, within the accuracy that kernels/elementary.h states."""
    return _sin_float(x) if x.dtype == np.float32 else _wave_double(x, 0)


def cosine(x: FloatArray) -> FloatArray:
    """cos(x) for |x| <= 60, within the accuracy that kernels/elementary.h states."""
    return _cos_float(x) if x.dtype == np.float32 else _wave_double(x, 1)


# ---- the pieces of kernels/portable.h ----


def _widen(x: ArrayLike) -> NDArray[np.float64]:
    return np.atleast_1d(np.asarray(x, np.float32)).astype(np.float64)


def _to_bits(x: FloatArray) -> IntArray:
    bits: IntArray = x.view(np.int32 if x.dtype == np.float32 else np.int64)
    return bits


def _from_bits(bits: IntArray) -> FloatArray:
    x: FloatArray = bits.view(np.float32 if bits.dtype == np.int32 else np.float64)
    return x


def _at_most(x: FloatArray, limit: float) -> FloatArray:
    return np.where(x < limit, x, x.dtype.type(limit))


def _at_least(x: FloatArray, limit: float) -> FloatArray:
    return np.where(x > limit, x, x.dtype.type(limit))


def _clip(x: FloatArray, limit: float) -> FloatArray:
    return _at_least(_at_most(x, limit), -limit)


def _above_minus_60(z: FloatArray) -> FloatArray:
    return np.where(z < -60.0, z.dtype.type(-60.0), z)


def _numbers(text: str) -> tuple[float, ...]:
    """Parses C++ hexadecimal literals, which Python has no syntax for."""
    return tuple(float.fromhex(number) for number in text.split())


# ---- the pieces of kernels/elementary.h ----

_LN2 = _numbers("0x1.62e43p-1 -0x1.05c61p-29 0x1.715476p+0")
_LN2_FIFTH = _numbers("0x1.1be9cp-3 -0x1.a2d682p-32 0x1.cda994p+2")
_MINUS_LN2_FIFTH = tuple(-x for x in _LN2_FIFTH)
_ROUND = 12582912.0
_ROUND_64 = 6755399441055744.0
_LN2_64 = _numbers("0x1.62e42fefa38p-1 0x1.ef35793c7673p-45 0x1.71547652b82fep+0")
_PI = _numbers("0x1.41b2f6p-1 0x1.c442cp-23 0x1.184698p-43 0x1.976fc8p+0")
_PI_FLOAT = _numbers("0x1.921fb6p+1 0x1.777a5cp-24 0x1.ee59dap-49 0x1.45f306p-2")
_HALF_PI_64 = _numbers("0x1.921fb54442dp+0 0x1.8469898cc517p-48 0x1.45f306dc9c883p-1")

_EXP = _numbers("0x1.6ad1c8p-10 0x1.123f34p-7 0x1.55584ep-5 0x1.55548ap-3 0x1.fffffcp-2 1")
_EXP5 = _numbers("0x1.58c3fp+4 0x1.a273acp+4 0x1.a0bp+4 0x1.4d5492p+4 0x1.8ffffcp+3 5")
_SIGMOID = _numbers(
    "0x1.d15836p+4 -0x1.192aa4p+5 0x1.17f4dep+5 -0x1.bfe99cp+4 0x1.0cbffep+4 -0x1.aep+2 0x1.58p+0"
)
_SELU = _numbers(
    "0x1.3dc46cp-9 0x1.e1fc8cp-7 0x1.2c105ep-4 0x1.2c0c08p-2 0x1.c212c8p-1 0x1.c212ccp+0"
)
_TANH = _numbers("0x1.28f958p+6 -0x1.065c88p+5 0x1.a0a344p+3 -0x1.4d554ep+2 0x1.4p+1")
_SIN = _numbers("0x1.5dc3ap-19 -0x1.9f7102p-13 0x1.110edap-7 -0x1.55554cp-3")
_LOG = _numbers(
    "-0x1.3371b4p-4 0x1.06e426p-3 -0x1.0f71ep-3 0x1.22a724p-3 -0x1.542832p-3 0x1.99a20ap-3"
    " -0x1.000418p-2 0x1.55555p-2 -0x1.fffff8p-2"
)
_LOG1P_FIFTH = _numbers(
    "-0x1.e2a6dep-11 0x1.568c9ep-8 -0x1.c4f32ep-7 0x1.853c9p-6 -0x1.079fecp-5 0x1.471046p-5"
    " -0x1.99d2c8p-5 0x1.11173cp-4 -0x1.9999f4p-4"
)
_EXP_64 = _numbers(
    "0x1.1fd2dd9bb41bbp-29 0x1.af746473b7382p-26 0x1.27e474d1d1e56p-22 0x1.71ddeaa6c9614p-19"
    " 0x1.a01a01e256e5bp-16 0x1.a01a01b5f3399p-13 0x1.6c16c16c0a436p-10 0x1.111111110e54bp-7"
    " 0x1.555555555556cp-5 0x1.555555555555dp-3"
)
_TANH_64 = _numbers(
    "-0x1.46ee25d024e77p-16 0x1.5d668bbdf0648p-14 -0x1.e96b118b4647cp-13 0x1.34833b00252d5p-11"
    " -0x1.7d8fc5f650ce1p-10 0x1.d6d29a8c9452ap-9 -0x1.226e2f0e09cfdp-7 0x1.664f48593f693p-6"
    " -0x1.ba1ba1b97cb13p-5 0x1.111111111079p-3 -0x1.555555555554fp-2"
)
_SIN_64 = _numbers(
    "0x1.5d93a5acfd57cp-33 -0x1.ae5e68a2b9cebp-26 0x1.71de357b1fe7dp-19 -0x1.a01a019c161d5p-13"
    " 0x1.111111110f8a6p-7"
)
_COS_64 = _numbers(
    "-0x1.8fae9be8838d4p-37 0x1.1ee9ebdb4b1c4p-29 -0x1.27e4f809c52adp-22 0x1.a01a019cb159p-16"
    " -0x1.6c16c16c15177p-10 0x1.555555555554cp-5"
)
_LOG_64 = _numbers(
    "0x1.2f112df3e5244p-3 0x1.39a09d078c69fp-3 0x1.7466496cb03dep-3 0x1.c71c51d8e78afp-3"
    " 0x1.2492494229359p-2 0x1.999999997fa04p-2 0x1.5555555555593p-1"
)


def _polynomial(x: FloatArray, coefficients: tuple[float, ...]) -> FloatArray:
    total: FloatArray = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total = fused(total, x, c) if x.dtype == np.float32 else total * x + c
    return total


def _power_of_2(rounded: FloatArray) -> FloatArray:
    return _from_bits(_to_bits(rounded) << (23 if rounded.dtype == np.float32 else 52))


def _reduce(z: FloatArray, unit: tuple[float, ...]) -> tuple[FloatArray, FloatArray]:
    hi, lo, inverse = unit
    rounded = fused(z, inverse, _ROUND + 127)
    k = rounded - np.float32(_ROUND + 127)
    return fused(k, -lo, fused(k, -hi, z)), _power_of_2(rounded)


def _tanh_of_5_halves(z: FloatArray) -> FloatArray:
    size = abs(z)
    rounded = fused(size - np.float32(0.069), _LN2_FIFTH[2], _ROUND + 127)
    k = rounded - np.float32(_ROUND + 127)
    r = fused(k, -_LN2_FIFTH[0], size)
    h = r * _polynomial(r * r, _TANH)
    scale = _power_of_2(rounded)
    n = fused(h, scale + np.float32(1), scale - np.float32(1))
    return np.copysign(n / (n + fused(h, -2, 2)), z)


def _sin_near_0(x: FloatArray) -> FloatArray:
    u = x * x
    return fused(x * u, _polynomial(u, _SIN), x)


def sin_of_5(z: FloatArray) -> FloatArray:
    """The sine of 5 z, float32."""
    rounded = fused(z, _PI[3], _ROUND)
    k = rounded - np.float32(_ROUND)
    r = fused(k, -_PI[0], z)
    x = fused(k, -_PI[2], fused(r, 5, k * np.float32(-_PI[1])))
    return _from_bits(_to_bits(_sin_near_0(x)) ^ (_to_bits(rounded) << 31))


def _sin_float(x: FloatArray) -> FloatArray:
    pi, middle, rest, inverse = _PI_FLOAT
    rounded = fused(x, inverse, _ROUND)
    k = rounded - np.float32(_ROUND)
    y = _sin_near_0(fused(k, rest, fused(k, middle, fused(k, -pi, x))))
    return _from_bits(_to_bits(y) ^ (_to_bits(rounded) << 31))


def _cos_float(x: FloatArray) -> FloatArray:
    pi, middle, rest, inverse = _PI_FLOAT
    rounded = fused(x, inverse, -0.5) + np.float32(_ROUND)
    k = (rounded - np.float32(_ROUND)) + np.float32(0.5)
    y = _sin_near_0(fused(k, -rest, fused(k, -middle, fused(k, pi, -x))))
    return _from_bits(_to_bits(y) ^ (_to_bits(rounded) << 31))


def log_float(x: FloatArray) -> FloatArray:
    """The natural logarithm of positive float32 numbers."""
    offset = _to_bits(x) - 0x3F3504F3
    k = _from_bits(((offset + 0x3F800000) >> 23) | 0x4B000000) - np.float32(8388608 + 127)
    f = _from_bits((offset & 0x007FFFFF) + 0x3F3504F3) - np.float32(1)
    tail = fused(f * f, _polynomial(f, _LOG), k * np.float32(_LN2[1]))
    return fused(k, _LN2[0], f + tail)


def _exp_double(x: FloatArray) -> FloatArray:
    rounded = x * _LN2_64[2] + (_ROUND_64 + 1023)
    k = rounded - (_ROUND_64 + 1023)
    hi = x - k * _LN2_64[0]
    lo = k * _LN2_64[1]
    r = hi - lo
    low = (hi - r) - lo
    square = r * r
    total = 1 + r
    tail = 0.5 * square + (square * r * _polynomial(r, _EXP_64) + total * low)
    y: FloatArray = (total + (((1 - total) + r) + tail)) * _power_of_2(rounded)
    return y


def _tanh_double(x: FloatArray) -> FloatArray:
    size = abs(x)
    u = x * x
    small = size + size * u * _polynomial(u, _TANH_64)
    large = 1 - 2 / (_exp_double(2 * size) + 1)
    return np.copysign(np.where(size < 0.55, small, large), x)


def _wave_double(x: FloatArray, ahead: int) -> FloatArray:
    rounded = x * _HALF_PI_64[2] + _ROUND_64
    k = rounded - _ROUND_64
    hi = x - k * _HALF_PI_64[0]
    lo = k * _HALF_PI_64[1]
    r = hi - lo
    rest = (hi - r) - lo
    u = r * r
    cube = u * r
    sine = r - (
        (u * (0.5 * rest - cube * _polynomial(u, _SIN_64)) - rest)
        - cube * float.fromhex("-0x1.5555555555549p-3")
    )
    half = 0.5 * u
    near_1 = 1 - half
    tail = u * (u * _polynomial(u, _COS_64)) - r * rest
    cosine = near_1 + (((1 - near_1) - half) + tail)
    bits = _to_bits(rounded) + ahead
    y = np.where(bits & 1, cosine, sine)
    return _from_bits(_to_bits(y) ^ ((bits << 62) & -(1 << 63)))


def _log_double(x: FloatArray) -> FloatArray:
    offset = _to_bits(x) - 0x3FE6A09E667F3BCD
    biased = ((offset + 0x3FF0000000000000) >> 52) | 0x4330000000000000
    k = _from_bits(biased) - (4503599627370496.0 + 1023)
    f = _from_bits((offset & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD) - 1
    s = f / (2 + f)
    z = s * s
    p = z * _polynomial(z, _LOG_64)
    half_square = 0.5 * f * f
    tail = s * (half_square + p) + k * _LN2_64[1]
    return k * _LN2_64[0] - ((half_square - tail) - f)


# ---- kernels/activations.h ----


def _sigmoid(z: FloatArray) -> FloatArray:
    if z.dtype == np.float32:
        c = _SIGMOID[-1]
        r, scale = _reduce(_clip(z, 12), _MINUS_LN2_FIFTH)
        return np.float32(c) / fused(_polynomial(r, _SIGMOID), scale, c)
    return 1 / (1 + _exp_double(-_clip(5 * z, 60)))


def _tanh(z: FloatArray) -> FloatArray:
    if z.dtype == np.float32:
        return _tanh_of_5_halves(_clip(z, 4))
    return _tanh_double(_clip(2.5 * z, 60))


def _sin(z: FloatArray) -> FloatArray:
    return sin_of_5(_clip(z, 12)) if z.dtype == np.float32 else _wave_double(_clip(5 * z, 60), 0)


def _gauss(z: FloatArray) -> FloatArray:
    if z.dtype == np.float32:
        square = z * z
        rounded = fused(square, -_LN2_FIFTH[2], _ROUND + 127)
        k = rounded - np.float32(_ROUND + 127)
        r = fused(z, -z, k * np.float32(-float.fromhex("0x1.1beap-3")))
        r = fused(k, float.fromhex("0x1.00345ap-21"), r)
        y = fused(_polynomial(r, _EXP5), r, 1) * _power_of_2(rounded)
        limit = np.float32(3.4)
        return np.where(square < limit * limit, y, np.float32(np.exp(-57.8)))
    z = _clip(z, 3.4)
    return _exp_double(-5 * (z * z))


def _relu(z: FloatArray) -> FloatArray:
    return _at_least(z, 0)


def _elu(z: FloatArray) -> FloatArray:
    if z.dtype == np.float32:
        r, scale = _reduce(_above_minus_60(z), _LN2)
        y: FloatArray = fused(_polynomial(r, _EXP) * r, scale, scale - np.float32(1))
    else:
        y = _exp_double(_above_minus_60(z)) - 1
    return canonical(np.where(z > 0, z, y))


def _lelu(z: FloatArray) -> FloatArray:
    return canonical(np.where(z > 0, z, z.dtype.type(0.005) * z))


def _selu(z: FloatArray) -> FloatArray:
    lambda_ = 1.0507009873554805
    lambda_alpha = lambda_ * 1.6732632423543772
    if z.dtype == np.float32:
        r, scale = _reduce(_above_minus_60(z), _LN2)
        below = (scale - np.float32(1)) * np.float32(lambda_alpha)
        y: FloatArray = fused(_polynomial(r, _SELU) * r, scale, below)
    else:
        y = lambda_alpha * (_exp_double(_above_minus_60(z)) - 1)
    return canonical(np.where(z > 0, z.dtype.type(lambda_) * z, y))


def _softplus(z: FloatArray) -> FloatArray:
    if z.dtype == np.float32:
        z = _clip(z, 12)
        r, scale = _reduce(-abs(z), _LN2_FIFTH)
        slope = _polynomial(r, _EXP5)
        p = fused(slope, r, 1)
        lost = fused(slope, r, np.float32(1) - p) * scale
        e = p * scale
        y = fused(lost, 0.15, _at_least(z, 0))
        y = fused(_polynomial(e, _LOG1P_FIFTH), e * e, y)
        return fused(e, 0.2, y)
    return 0.2 * _log_double(1 + _exp_double(_clip(5 * z, 60)))


def _inv(z: FloatArray) -> FloatArray:
    return canonical(np.where(z == 0, z.dtype.type(0), z.dtype.type(1) / z))


def _log(z: FloatArray) -> FloatArray:
    x = _at_least(z, 1e-7)
    y = log_float(x) if x.dtype == np.float32 else _log_double(x)
    return np.where(x - x == 0, y, x)


def _exp(z: FloatArray) -> FloatArray:
    z = _clip(z, 60)
    if z.dtype == np.float32:
        r, scale = _reduce(z, _LN2)
        return fused(_polynomial(r, _EXP), r, 1) * scale
    return _exp_double(z)


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


# ---- kernels/aggregations.h ----


def _sum(w: FloatArray, v: FloatArray) -> FloatArray:
    total: FloatArray = np.zeros_like(v[0])
    for i in range(len(w)):
        total = fused(w[i], v[i], total) if v.dtype == np.float32 else total + w[i] * v[i]
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
        x = _from_bits(_order(np.sort(_order(_to_bits(x)), axis=0)))
        middle = x[n // 2] if n % 2 else (x[n // 2 - 1] + x[n // 2]) / x.dtype.type(2)
    return canonical(np.where(ordered.all(axis=0), middle, x.dtype.type(np.nan)))


def _order(bits: IntArray) -> IntArray:
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
