"""The NumPy twin of `kernels/numerics/portable.h` and `kernels/numerics/elementary.h`.

Operation by operation, in the same order, so that both give equal bits; the headers say why a
formula looks as it does. NumPy lacks a fused multiply-add: `fused` and `fused_double` emulate it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
        return round_once(widen(a) * widen(b), widen(c))


def round_once(
    product: NDArray[np.float64], addend: NDArray[np.float64] | np.float64
) -> Float32Array:
    """Adds a float32 to an exact product of two, as `fused`, which says how.

    It leaves to callers to ignore errors, and to `widen`: at once what they use again and again.
    """
    return _add_to_odd(product, addend).astype(np.float32)


def fused_double(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> NDArray[np.float64]:
    """Computes a * b + c of float64 numbers with a single rounding.

    As kernels/numerics/portable.h does where the processor cannot: for products that are 0 or above
    2^-960, and below about 2^990.
    """
    with np.errstate(all="ignore"):
        return _fuse(_split(a), _split(b), np.asarray(c, np.float64))


# A number, and its upper and lower half.
_Split = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def _split(x: ArrayLike) -> _Split:
    whole = np.atleast_1d(np.asarray(x, np.float64))
    shifted = whole * float.fromhex("0x1.0000002p+27")
    upper = shifted - (shifted - whole)
    return whole, upper, whole - upper


def _fuse(a: _Split, b: _Split, c: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of a product and c, each with what it lost, which is added rounded to odd."""
    product = a[0] * b[0]
    lost = a[2] * b[2] - (((product - a[1] * b[1]) - a[2] * b[1]) - a[1] * b[2])
    t = c + lost
    part = t - c
    t_lost = (c - (t - part)) + (lost - part)
    s = product + t
    part = s - product
    s_lost = (product - (s - part)) + (t - part)
    total: NDArray[np.float64] = s + _add_to_odd(t_lost, s_lost)
    return np.where(product == 0, product + c, total)


def _add_to_odd(p: NDArray[np.float64], c: NDArray[np.float64] | np.float64) -> NDArray[np.float64]:
    """The sum, truncated, its last bit set if anything was lost."""
    total = p + c
    part = total - p
    # What the sum lacks, exactly, times the sum: negative where its size was rounded up.
    lost = ((p - (total - part)) + (c - part)) * total
    bits = total.view(np.int64)
    bits -= lost < 0.0
    # Nothing is lost of infinities and NaN, where this is NaN and compares false.
    bits |= np.abs(lost) > 0.0
    return total


def canonical(x: FloatArray) -> FloatArray:
    """Replaces every NaN by the one quiet NaN that all backends use."""
    return np.where(x == x, x, np.array(np.nan, x.dtype))


def sine(x: FloatArray) -> FloatArray:
    """sin(x) for |x| <= 60, within the accuracy that kernels/numerics/elementary.h states."""
    return sin_float(x) if x.dtype == np.float32 else wave_double(x, 0)


def cosine(x: FloatArray) -> FloatArray:
    """cos(x) for |x| <= 60, within the accuracy that kernels/numerics/elementary.h states."""
    return cos_float(x) if x.dtype == np.float32 else wave_double(x, 1)


def exponential(x: FloatArray) -> FloatArray:
    """exp(x) for |x| <= 60, within the accuracy that kernels/numerics/elementary.h states."""
    if x.dtype == np.float32:
        r, scale = reduce(x, LN2)
        return fused(polynomial(r, EXP), r, 1) * scale
    return exp_double(x)


# ---- the pieces of kernels/numerics/portable.h ----


def widen(x: ArrayLike) -> NDArray[np.float64]:
    """Rounds to float32 what is none, and makes it float64, with one dimension at least."""
    wide = np.asarray(x, np.float32).astype(np.float64)
    return wide if wide.ndim else wide.reshape(1)


def to_bits(x: FloatArray) -> IntArray:
    """The bits of numbers as integers of their size."""
    bits: IntArray = x.view(np.int32 if x.dtype == np.float32 else np.int64)
    return bits


def from_bits(bits: IntArray) -> FloatArray:
    """The numbers that have such bits."""
    x: FloatArray = bits.view(np.float32 if bits.dtype == np.int32 else np.float64)
    return x


def _numbers(text: str) -> tuple[float, ...]:
    """Parses C++ hexadecimal literals, which Python has no syntax for."""
    return tuple(float.fromhex(number) for number in text.split())


# ---- the pieces of kernels/numerics/elementary.h ----

LN2 = _numbers("0x1.62e43p-1 -0x1.05c61p-29 0x1.715476p+0")
LN2_FIFTH = _numbers("0x1.1be9cp-3 -0x1.a2d682p-32 0x1.cda994p+2")
MINUS_LN2_FIFTH = tuple(-x for x in LN2_FIFTH)
ROUND = 12582912.0
ROUND_64 = 6755399441055744.0
LN2_64 = _numbers("0x1.62e42fefa39efp-1 0x1.abc9e3b39803fp-56 0x1.71547652b82fep+0")
LN2_PARTS_64 = _numbers("0x1.62e42fefa38p-1 0x1.ef35793c7673p-45")
PI = _numbers("0x1.41b2f6p-1 0x1.c442cp-23 0x1.184698p-43 0x1.976fc8p+0")
PI_FLOAT = _numbers("0x1.921fb6p+1 0x1.777a5cp-24 0x1.ee59dap-49 0x1.45f306p-2")
HALF_PI_64 = _numbers("0x1.921fb54442dp+0 0x1.8469898cc517p-48 0x1.45f306dc9c883p-1")

EXP = _numbers("0x1.6ad1c8p-10 0x1.123f34p-7 0x1.55584ep-5 0x1.55548ap-3 0x1.fffffcp-2 1")
EXP5 = _numbers("0x1.58c3fp+4 0x1.a273acp+4 0x1.a0bp+4 0x1.4d5492p+4 0x1.8ffffcp+3 5")
SIGMOID = _numbers(
    "0x1.d15836p+4 -0x1.192aa4p+5 0x1.17f4dep+5 -0x1.bfe99cp+4 0x1.0cbffep+4 -0x1.aep+2 0x1.58p+0"
)
SELU = _numbers(
    "0x1.3dc46cp-9 0x1.e1fc8cp-7 0x1.2c105ep-4 0x1.2c0c08p-2 0x1.c212c8p-1 0x1.c212ccp+0"
)
TANH = _numbers("0x1.28f958p+6 -0x1.065c88p+5 0x1.a0a344p+3 -0x1.4d554ep+2 0x1.4p+1")
SIN = _numbers("0x1.5dc3ap-19 -0x1.9f7102p-13 0x1.110edap-7 -0x1.55554cp-3")
LOG = _numbers(
    "-0x1.3371b4p-4 0x1.06e426p-3 -0x1.0f71ep-3 0x1.22a724p-3 -0x1.542832p-3 0x1.99a20ap-3"
    " -0x1.000418p-2 0x1.55555p-2 -0x1.fffff8p-2"
)
LOG1P_FIFTH = _numbers(
    "-0x1.e2a6dep-11 0x1.568c9ep-8 -0x1.c4f32ep-7 0x1.853c9p-6 -0x1.079fecp-5 0x1.471046p-5"
    " -0x1.99d2c8p-5 0x1.11173cp-4 -0x1.9999f4p-4"
)
EXP_64 = _numbers(
    "0x1.ad1f7efd5bb2p-26 0x1.289f9958589d1p-22 0x1.71df55b54e871p-19 0x1.a019ab1d9f7b9p-16"
    " 0x1.a01a011be47dbp-13 0x1.6c16c17cc890ap-10 0x1.1111111128959p-7 0x1.55555555531f4p-5"
    " 0x1.5555555555501p-3 0x1p-1"
)
TANH_64 = _numbers(
    "-0x1.46ee25d024e77p-16 0x1.5d668bbdf0648p-14 -0x1.e96b118b4647cp-13 0x1.34833b00252d5p-11"
    " -0x1.7d8fc5f650ce1p-10 0x1.d6d29a8c9452ap-9 -0x1.226e2f0e09cfdp-7 0x1.664f48593f693p-6"
    " -0x1.ba1ba1b97cb13p-5 0x1.111111111079p-3 -0x1.555555555554fp-2"
)
SIN_64 = _numbers(
    "0x1.5d93a5acfd57cp-33 -0x1.ae5e68a2b9cebp-26 0x1.71de357b1fe7dp-19 -0x1.a01a019c161d5p-13"
    " 0x1.111111110f8a6p-7"
)
COS_64 = _numbers(
    "-0x1.8fae9be8838d4p-37 0x1.1ee9ebdb4b1c4p-29 -0x1.27e4f809c52adp-22 0x1.a01a019cb159p-16"
    " -0x1.6c16c16c15177p-10 0x1.555555555554cp-5"
)
LOG_64 = _numbers(
    "0x1.2f112df3e5244p-3 0x1.39a09d078c69fp-3 0x1.7466496cb03dep-3 0x1.c71c51d8e78afp-3"
    " 0x1.2492494229359p-2 0x1.999999997fa04p-2 0x1.5555555555593p-1"
)


def polynomial(x: FloatArray, coefficients: tuple[float, ...]) -> FloatArray:
    """Horner's rule, fused, coefficients from the highest down."""
    total: FloatArray = np.full_like(x, coefficients[0])
    with np.errstate(all="ignore"):
        if x.dtype == np.float32:
            wide = widen(x)
            for rounded in widen(coefficients[1:]):
                total = round_once(total * wide, rounded)
        else:
            halves = _split(x)
            for c in np.asarray(coefficients[1:]):
                total = _fuse(_split(total), halves, c)
    return total.reshape(x.shape)


def power_of_2(rounded: FloatArray) -> FloatArray:
    """2^k of a sum that has k in its last bits, with the bias of an exponent."""
    return from_bits(to_bits(rounded) << (23 if rounded.dtype == np.float32 else 52))


def reduce(z: FloatArray, unit: tuple[float, ...]) -> tuple[FloatArray, FloatArray]:
    """Z = k unit + r; gives r and 2^k, float32."""
    hi, lo, inverse = unit
    rounded = fused(z, inverse, ROUND + 127)
    k = rounded - np.float32(ROUND + 127)
    return fused(k, -lo, fused(k, -hi, z)), power_of_2(rounded)


def tanh_of_5_halves(z: FloatArray) -> FloatArray:
    """The hyperbolic tangent of 5/2 z for |z| <= 4, float32."""
    size = abs(z)
    rounded = fused(size - np.float32(0.069), LN2_FIFTH[2], ROUND + 127)
    k = rounded - np.float32(ROUND + 127)
    r = fused(k, -LN2_FIFTH[0], size)
    h = r * polynomial(r * r, TANH)
    scale = power_of_2(rounded)
    n = fused(h, scale + np.float32(1), scale - np.float32(1))
    return np.copysign(n / (n + fused(h, -2, 2)), z)


def sin_near_0(x: FloatArray) -> FloatArray:
    """The sine for |x| <= pi/2, float32."""
    u = x * x
    return fused(x * u, polynomial(u, SIN), x)


def sin_of_5(z: FloatArray) -> FloatArray:
    """The sine of 5 z, float32."""
    rounded = fused(z, PI[3], ROUND)
    k = rounded - np.float32(ROUND)
    r = fused(k, -PI[0], z)
    x = fused(k, -PI[2], fused(r, 5, k * np.float32(-PI[1])))
    return from_bits(to_bits(sin_near_0(x)) ^ (to_bits(rounded) << 31))


def cos_of_5(z: FloatArray) -> FloatArray:
    """The cosine of 5 z, float32."""
    rounded = fused(z, PI[3], -0.5) + np.float32(ROUND)
    k = (rounded - np.float32(ROUND)) + np.float32(0.5)
    r = fused(k, PI[0], -z)
    x = fused(k, PI[2], fused(r, 5, k * np.float32(PI[1])))
    return from_bits(to_bits(sin_near_0(x)) ^ (to_bits(rounded) << 31))


def sin_float(x: FloatArray) -> FloatArray:
    """The sine, float32."""
    pi, middle, rest, inverse = PI_FLOAT
    rounded = fused(x, inverse, ROUND)
    k = rounded - np.float32(ROUND)
    y = sin_near_0(fused(k, rest, fused(k, middle, fused(k, -pi, x))))
    return from_bits(to_bits(y) ^ (to_bits(rounded) << 31))


def cos_float(x: FloatArray) -> FloatArray:
    """The cosine, float32."""
    return cos_before(x, fused(x, PI_FLOAT[3], -0.5) + np.float32(ROUND))


def cos_before(x: FloatArray, rounded: FloatArray) -> FloatArray:
    """The cosine from the nearest k + 1/2, float32.

    Args:
        x: The argument.
        rounded: k, with `ROUND` added.
    """
    pi, middle, rest, _ = PI_FLOAT
    k = (rounded - np.float32(ROUND)) + np.float32(0.5)
    y = sin_near_0(fused(k, -rest, fused(k, -middle, fused(k, pi, -x))))
    return from_bits(to_bits(y) ^ (to_bits(rounded) << 31))


def log_float(x: FloatArray, less: FloatArray | float = 0.0) -> FloatArray:
    """The natural logarithm of x / 2^less for normal positive x, float32."""
    offset = to_bits(x) - 0x3F3504F3
    k = from_bits(((offset + 0x3F800000) >> 23) | 0x4B000000) - np.float32(8388608 + 127)
    k = k - np.asarray(less, np.float32)
    f = from_bits((offset & 0x007FFFFF) + 0x3F3504F3) - np.float32(1)
    tail = fused(f * f, polynomial(f, LOG), k * np.float32(LN2[1]))
    return fused(k, LN2[0], f + tail)


def exp_near_0(x: FloatArray, k: FloatArray) -> FloatArray:
    """exp(x - k ln2), with k ln2 the nearest to x, float64."""
    hi = fused_double(k, -LN2_64[0], x)
    r = fused_double(k, -LN2_64[1], hi)
    low = fused_double(k, -LN2_64[1], hi - r)
    total = 1 + r
    rest = fused_double(r * r, polynomial(r, EXP_64), (1 - total) + r)
    y: FloatArray = total + fused_double(total, low, rest)
    return y


def rounded_log2(x: FloatArray) -> FloatArray:
    """X / ln2 as an integer, with `ROUND_64` and the bias of an exponent added, float64."""
    return fused_double(x, LN2_64[2], ROUND_64 + 1023)


def exp_double(x: FloatArray) -> FloatArray:
    """The exponential for |x| < 700, float64."""
    rounded = rounded_log2(x)
    return exp_near_0(x, rounded - (ROUND_64 + 1023)) * power_of_2(rounded)


def tanh_double(x: FloatArray) -> FloatArray:
    """The hyperbolic tangent for |x| <= 60, float64."""
    size = abs(x)
    u = x * x
    small = fused_double(size * u, polynomial(u, TANH_64), size)
    large = 1 - 2 / (exp_double(2 * size) + 1)
    return np.copysign(np.where(size < 0.55, small, large), x)


def wave_double(x: FloatArray, ahead: int) -> FloatArray:
    """The sine, or the cosine one `ahead`, for |x| <= 60, float64."""
    rounded = x * HALF_PI_64[2] + ROUND_64
    k = rounded - ROUND_64
    hi = x - k * HALF_PI_64[0]
    lo = k * HALF_PI_64[1]
    r = hi - lo
    return wave_near_0(r, (hi - r) - lo, rounded, ahead)


def wave_near_0(r: FloatArray, rest: FloatArray, rounded: FloatArray, ahead: int) -> FloatArray:
    """The sine of k pi/2 + r + rest, or the cosine one `ahead`, float64.

    Args:
        r: Nearly what is left of the argument.
        rest: What r lacks.
        rounded: k, with `ROUND_64` added.
        ahead: 0 or 1.
    """
    u = r * r
    cube = u * r
    sine = r - (
        (u * (0.5 * rest - cube * polynomial(u, SIN_64)) - rest)
        - cube * float.fromhex("-0x1.5555555555549p-3")
    )
    half = 0.5 * u
    near_1 = 1 - half
    tail = u * (u * polynomial(u, COS_64)) - r * rest
    cosine = near_1 + (((1 - near_1) - half) + tail)
    bits = to_bits(rounded) + ahead
    y = np.where(bits & 1, cosine, sine)
    return from_bits(to_bits(y) ^ ((bits << 62) & -(1 << 63)))


def log_double(x: FloatArray, less: FloatArray | float = 0.0) -> FloatArray:
    """The natural logarithm of x / 2^less for normal positive x, float64."""
    offset = to_bits(x) - 0x3FE6A09E667F3BCD
    biased = ((offset + 0x3FF0000000000000) >> 52) | 0x4330000000000000
    k = from_bits(biased) - (4503599627370496.0 + 1023) - less
    f = from_bits((offset & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD) - 1
    s = f / (2 + f)
    z = s * s
    p = z * polynomial(z, LOG_64)
    half_square = 0.5 * f * f
    tail = s * (half_square + p) + k * LN2_PARTS_64[1]
    return k * LN2_PARTS_64[0] - ((half_square - tail) - f)
