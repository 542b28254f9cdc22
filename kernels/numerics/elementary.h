// elementary.h: our own exp, tanh, sin and log. libm differs between machines and does not
// vectorise; these are branch-free and use only operations that IEEE 754 rounds the same way
// everywhere. Polynomials are minimax fits whose coefficients were rounded one after the other.
#pragma once

#include "numerics/portable.h"

EVONET_NAMESPACE_BEGIN

// A polynomial by Horner's rule, fused, coefficients from the highest down.
template <class T>
EVONET_FN T horner(T, T sum) {
  return sum;
}
template <class T, class... Rest>
EVONET_FN T horner(T x, T sum, Lane<T> next, Rest... rest) {
  return horner(x, fused(sum, x, all<T>(next)), rest...);
}
template <class T, class... Rest>
EVONET_FN T polynomial(T x, Lane<T> highest, Rest... rest) {
  return horner(x, all<T>(highest), rest...);
}

// ---- float: never a double --------------------------------------------------------------------
//
// Activations scale their argument, mostly by 5. Rounding 5 z would cost an operation and the
// error it makes, so z is reduced by ln2 / 5 instead and the 5 hides in the coefficients.

struct Ln2 {  // hi + lo, and one over it
  static constexpr float hi = 0x1.62e43p-1f, lo = -0x1.05c61p-29f, inverse = 0x1.715476p+0f;
};
struct Ln2Fifth {
  static constexpr float hi = 0x1.1be9cp-3f, lo = -0x1.a2d682p-32f, inverse = 0x1.cda994p+2f;
};
struct MinusLn2Fifth {
  static constexpr float hi = -Ln2Fifth::hi, lo = -Ln2Fifth::lo, inverse = -Ln2Fifth::inverse;
};

// Adding this rounds to an integer. It also adds the bias of an exponent, so that shifting the
// sum's last bits to the exponent's place gives 2^k.
constexpr float kRound = 12582912.0f + 127.0f;

template <class T>
EVONET_FN T power_of_2(T rounded) {
  return from_bits<T>(bits_shifted(rounded, kIsFloat<T> ? 23 : 52));
}

// z = k unit + r with |r| <= |unit| / 2, and scale = 2^k.
template <class T>
struct Reduced {
  T r, scale;
};

template <class Unit, class T>
EVONET_FN Reduced<T> reduce(T z) {
  T rounded = fused(z, Unit::inverse, kRound);
  T k = rounded - kRound;
  T r = fused(k, -Unit::hi, z);  // exact
  return {fused(k, -Unit::lo, r), power_of_2(rounded)};
}

// (exp(r) - 1) / r for |r| <= ln2 / 2
template <class T>
EVONET_FN T exp_slope(T r) {
  return polynomial(r, 0x1.6ad1c8p-10f, 0x1.123f34p-7f, 0x1.55584ep-5f, 0x1.55548ap-3f,
                    0x1.fffffcp-2f, 1.0f);
}

// (exp(5 r) - 1) / r for |r| <= ln2 / 10
template <class T>
EVONET_FN T exp5_slope(T r) {
  return polynomial(r, 0x1.58c3fp+4f, 0x1.a273acp+4f, 0x1.a0bp+4f, 0x1.4d5492p+4f, 0x1.8ffffcp+3f,
                    5.0f);
}

// tanh(5/2 z) for |z| <= 4, where it is 1. With z = k ln2/5 + r and h = tanh(5/2 r), 0 <= h < 1/3,
// it is N / D, N = (2^k + 1) h + (2^k - 1), D = N + 2 (1 - h). Nothing cancels, D forgives an
// error of N, and a small z (k = 0) gives h exactly. Rounding k to the nearest would not need the
// magnitude of z, but then h < 0 costs half an ulp too much.
template <class T>
EVONET_FN T tanh_of_5_halves(T z) {
  T size = magnitude(z);
  T rounded = fused(size - 0.069f, Ln2Fifth::inverse, kRound);  // just below ln2/10: rounds down
  T k = rounded - kRound;
  T r = fused(k, -Ln2Fifth::hi, size);  // k lo would not reach the last bit
  T u = r * r;
  T h = r * polynomial(u, 0x1.28f958p+6f, -0x1.065c88p+5f, 0x1.a0a344p+3f, -0x1.4d554ep+2f, 2.5f);
  T scale = power_of_2(rounded);
  T n = fused(h, scale + 1.0f, scale - 1.0f);
  return copy_sign(n / (n + fused(h, -2.0f, 2.0f)), z);
}

// sin(x) for |x| <= pi/2
template <class T>
EVONET_FN T sin_near_0(T x) {
  T u = x * x;
  T p = polynomial(u, 0x1.5dc3ap-19f, -0x1.9f7102p-13f, 0x1.110edap-7f, -0x1.55554cp-3f);
  return fused(x * u, p, x);  // the fit leans down a little at pi/2, or it could round to above 1
}

// sin(5 z) for |5 z| <= 60: x = 5 z - k pi, and an odd k is the other half wave. Three parts of pi
// make x correct to its last bit even where 5 z is nearly k pi.
template <class T>
EVONET_FN T sin_of_5(T z) {
  constexpr float round = 12582912.0f;
  T rounded = fused(z, 0x1.976fc8p+0f, round);
  T k = rounded - round;
  T r = fused(k, -0x1.41b2f6p-1f, z);         // exact
  T x = fused(r, 5.0f, k * -0x1.c442cp-23f);  // the product is exact
  x = fused(k, -0x1.184698p-43f, x);
  return from_bits<T>(to_bits(sin_near_0(x)) ^ bits_shifted(rounded, 31));
}

// cos(5 z) likewise, from the nearest (k + 1/2) pi.
template <class T>
EVONET_FN T cos_of_5(T z) {
  constexpr float round = 12582912.0f;
  T rounded = fused(z, 0x1.976fc8p+0f, -0.5f) + round;
  T k = (rounded - round) + 0.5f;
  T r = fused(k, 0x1.41b2f6p-1f, -z);
  T x = fused(r, 5.0f, k * 0x1.c442cp-23f);
  x = fused(k, 0x1.184698p-43f, x);
  return from_bits<T>(to_bits(sin_near_0(x)) ^ bits_shifted(rounded, 31));
}

// sin(x) and cos(x) for |x| <= 60, within 2 ulp. The cosine's distance is to the nearest
// (k + 1/2) pi, so that the same half wave serves both.
template <class T>
EVONET_FN T sin_float(T x) {
  constexpr float round = 12582912.0f;
  T rounded = fused(x, 0x1.45f306p-2f, round);
  T k = rounded - round;
  T r = fused(k, -0x1.921fb6p+1f, x);  // exact
  r = fused(k, 0x1.777a5cp-24f, r);
  T y = sin_near_0(fused(k, 0x1.ee59dap-49f, r));
  return from_bits<T>(to_bits(y) ^ bits_shifted(rounded, 31));
}

// cos(x) from the nearest k + 1/2; rounded is k + 12582912.
template <class T>
EVONET_FN T cos_before(T x, T rounded) {
  T k = (rounded - 12582912.0f) + 0.5f;
  T r = fused(k, 0x1.921fb6p+1f, -x);
  r = fused(k, -0x1.777a5cp-24f, r);
  T y = sin_near_0(fused(k, -0x1.ee59dap-49f, r));
  return from_bits<T>(to_bits(y) ^ bits_shifted(rounded, 31));
}

template <class T>
EVONET_FN T cos_float(T x) {
  return cos_before(x, fused(x, 0x1.45f306p-2f, -0.5f) + 12582912.0f);
}

// log(x / 2^less) for normal x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2)
template <class T>
EVONET_FN T log_float(T x, T less = T{}) {
  Bits<T> offset = bits_plus<T>(to_bits(x), -0x3f3504f3);
  T k = from_bits<T>((bits_plus<T>(offset, 0x3f800000) >> 23) | 0x4b000000) -
        (8388608.0f + 127.0f) - less;
  T f = from_bits<T>((offset & 0x007fffff) + 0x3f3504f3) - 1.0f;
  T p =
      polynomial(f, -0x1.3371b4p-4f, 0x1.06e426p-3f, -0x1.0f71ep-3f, 0x1.22a724p-3f,
                 -0x1.542832p-3f, 0x1.99a20ap-3f, -0x1.000418p-2f, 0x1.55555p-2f, -0x1.fffff8p-2f);
  return fused(k, Ln2::hi, f + fused(f * f, p, k * Ln2::lo));
}

// (log(1 + e) - e) / 5 e^2 for 0 <= e <= 1
template <class T>
EVONET_FN T log1p_fifth_bend(T e) {
  return polynomial(e, -0x1.e2a6dep-11f, 0x1.568c9ep-8f, -0x1.c4f32ep-7f, 0x1.853c9p-6f,
                    -0x1.079fecp-5f, 0x1.471046p-5f, -0x1.99d2c8p-5f, 0x1.11173cp-4f,
                    -0x1.9999f4p-4f);
}

// ---- double -----------------------------------------------------------------------------------

constexpr double kRoundDouble = 6755399441055744.0 + 1023.0;

// x / ln2 as an integer, with kRoundDouble added
template <class T>
EVONET_FN T rounded_log2(T x) {
  return fused(x, 0x1.71547652b82fep+0, kRoundDouble);
}

// exp(x - k ln2), with k ln2 the nearest to x: what r and 1 + r lost comes back.
template <class T>
EVONET_FN T exp_near_0(T x, T k) {
  constexpr double ln2 = 0x1.62e42fefa39efp-1, ln2_rest = 0x1.abc9e3b39803fp-56;
  T hi = fused(k, -ln2, x);  // exact
  T r = fused(k, -ln2_rest, hi);
  T low = fused(k, -ln2_rest, hi - r);
  T p = polynomial(r, 0x1.ad1f7efd5bb2p-26, 0x1.289f9958589d1p-22, 0x1.71df55b54e871p-19,
                   0x1.a019ab1d9f7b9p-16, 0x1.a01a011be47dbp-13, 0x1.6c16c17cc890ap-10,
                   0x1.1111111128959p-7, 0x1.55555555531f4p-5, 0x1.5555555555501p-3, 0.5);
  T sum = 1.0 + r;
  T rest = fused(r * r, p, (1.0 - sum) + r);
  return sum + fused(sum, low, rest);
}

// exp(x) for |x| < 700, 0.65 ulp
template <class T>
EVONET_FN T exp_double(T x) {
  T rounded = rounded_log2(x);
  return exp_near_0(x, rounded - kRoundDouble) * power_of_2(rounded);
}

// tanh(x) for |x| <= 60. glibc's errs by up to 2.2 ulp, so two ulp from it leave us about one.
template <class T>
EVONET_FN T tanh_double(T x) {
  T size = magnitude(x);
  T u = x * x;
  T p = polynomial(u, -0x1.46ee25d024e77p-16, 0x1.5d668bbdf0648p-14, -0x1.e96b118b4647cp-13,
                   0x1.34833b00252d5p-11, -0x1.7d8fc5f650ce1p-10, 0x1.d6d29a8c9452ap-9,
                   -0x1.226e2f0e09cfdp-7, 0x1.664f48593f693p-6, -0x1.ba1ba1b97cb13p-5,
                   0x1.111111111079p-3, -0x1.555555555554fp-2);
  T small = fused(size * u, p, size);
  T large = 1.0 - 2.0 / (exp_double(2.0 * size) + 1.0);
  return copy_sign(size < 0.55 ? small : large, x);
}

constexpr double kQuarterRound = 6755399441055744.0;  // adding it rounds to an integer

// sin, or cos if kAhead = 1, of k pi/2 + r + rest, after fdlibm: k + kAhead says which of sin(r),
// cos(r) and their opposites it is. rounded is k + kQuarterRound.
template <int kAhead, class T>
EVONET_FN T wave_near_0(T r, T rest, T rounded) {
  T u = r * r;
  T cube = u * r;
  T p = polynomial(u, 0x1.5d93a5acfd57cp-33, -0x1.ae5e68a2b9cebp-26, 0x1.71de357b1fe7dp-19,
                   -0x1.a01a019c161d5p-13, 0x1.111111110f8a6p-7);
  T sine = r - ((u * (0.5 * rest - cube * p) - rest) - cube * -0x1.5555555555549p-3);
  T q = polynomial(u, -0x1.8fae9be8838d4p-37, 0x1.1ee9ebdb4b1c4p-29, -0x1.27e4f809c52adp-22,
                   0x1.a01a019cb159p-16, -0x1.6c16c16c15177p-10, 0x1.555555555554cp-5);
  T half = 0.5 * u;
  T near_1 = 1.0 - half;
  T cosine = near_1 + (((1.0 - near_1) - half) + (u * (u * q) - r * rest));
  if constexpr (kAhead != 0) rounded = rounded + double(kAhead);  // exact
  T y = (to_bits(rounded) & 1) != 0 ? cosine : sine;
  return from_bits<T>(to_bits(y) ^ (bits_shifted(rounded, 62) & ~0x7fffffffffffffff));
}

// sin(x), or cos(x) if kAhead = 1, for |x| <= 60
template <int kAhead, class T>
EVONET_FN T wave_double(T x) {
  T rounded = x * 0x1.45f306dc9c883p-1 + kQuarterRound;
  T k = rounded - kQuarterRound;
  T hi = x - k * 0x1.921fb54442dp+0;  // exact
  T lo = k * 0x1.8469898cc517p-48;
  T r = hi - lo;
  return wave_near_0<kAhead>(r, (hi - r) - lo, rounded);
}

template <class T>
EVONET_FN T sin_double(T x) {
  return wave_double<0>(x);
}

// log(x / 2^less) for normal x = 2^k (1 + f), after fdlibm: with s = f / (2 + f) it is
// k ln2 + f - (f^2 / 2 - s (f^2 / 2 + R(s^2)))
template <class T>
EVONET_FN T log_double(T x, T less = T{}) {
  constexpr double ln2_hi = 0x1.62e42fefa38p-1, ln2_lo = 0x1.ef35793c7673p-45;
  Bits<T> offset = bits_plus<T>(to_bits(x), -0x3fe6a09e667f3bcd);
  T k = from_bits<T>((bits_plus<T>(offset, 0x3ff0000000000000) >> 52) | 0x4330000000000000) -
        (4503599627370496.0 + 1023.0) - less;
  T f = from_bits<T>((offset & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;
  T s = f / (2.0 + f);
  T z = s * s;
  T p = z * polynomial(z, 0x1.2f112df3e5244p-3, 0x1.39a09d078c69fp-3, 0x1.7466496cb03dep-3,
                       0x1.c71c51d8e78afp-3, 0x1.2492494229359p-2, 0x1.999999997fa04p-2,
                       0x1.5555555555593p-1);
  T half_square = 0.5 * f * f;
  T tail = s * (half_square + p) + k * ln2_lo;
  return k * ln2_hi - ((half_square - tail) - f);
}

// ---- either -----------------------------------------------------------------------------------

// sin(x) and cos(x) for |x| <= 60, within 2 ulp; a double near a zero only within 1e-28.
template <class T>
EVONET_FN T sine(T x) {
  if constexpr (kIsFloat<T>)
    return sin_float(x);
  else
    return wave_double<0>(x);
}

template <class T>
EVONET_FN T cosine(T x) {
  if constexpr (kIsFloat<T>)
    return cos_float(x);
  else
    return wave_double<1>(x);
}

EVONET_NAMESPACE_END
