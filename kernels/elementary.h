// elementary.h: our own exp, tanh, sin and log. libm differs between machines and does not
// vectorise; these are branch-free and use only operations that IEEE 754 rounds the same way
// everywhere. Float functions use fused and no double; double functions use no fma.
#pragma once

#include "portable.h"

EVONET_NAMESPACE_BEGIN

// ---- float ----------------------------------------------------------------------------------
//
// Activations scale their argument, mostly by 5. Rounding 5 z first would cost a rounding and the
// error it causes, so the functions below take the scale A: they reduce z by ln2 / A, exactly,
// and A is part of the polynomial's coefficients.

template <int A>
struct ExpOf;

template <>
struct ExpOf<1> {
  static constexpr float log2e = 0x1.715476p+0f;
  static constexpr float ln2_hi = 0x1.62e43p-1f, ln2_lo = -0x1.05c61p-29f;
  static constexpr float c1 = 1.0f, c2 = 0x1.fffffcp-2f, c3 = 0x1.55548ap-3f, c4 = 0x1.55584ep-5f,
                         c5 = 0x1.123f34p-7f, c6 = 0x1.6ad1c8p-10f;
};

template <>
struct ExpOf<5> {
  static constexpr float log2e = 0x1.cda994p+2f;
  static constexpr float ln2_hi = 0x1.1be9cp-3f, ln2_lo = -0x1.a2d682p-32f;
  static constexpr float c1 = 5.0f, c2 = 0x1.8ffffcp+3f, c3 = 0x1.4d5492p+4f, c4 = 0x1.a0bp+4f,
                         c5 = 0x1.a273acp+4f, c6 = 0x1.58c3fp+4f;
};

// Adding this rounds to an integer, in the last bits of the sum, already biased as an exponent.
static constexpr float kRound = 12582912.0f + 127.0f;

// z = k ln2/A + r with |r| <= ln2/2A, so exp(A z) = scale exp(A r) with scale = 2^k.
template <class T>
struct Reduced {
  T r, scale;
};

template <int A, class T>
EVONET_FN Reduced<T> reduce_exp(T z) {
  T rounded = fused(z, ExpOf<A>::log2e, kRound);
  T k = rounded - kRound;
  T r = fused(k, -ExpOf<A>::ln2_hi, z);  // exact
  return {fused(k, -ExpOf<A>::ln2_lo, r), from_bits<T>(to_bits(rounded) << 23)};
}

// (exp(A r) - 1) / r
template <int A, class T>
EVONET_FN T exp_slope(T r) {
  using C = ExpOf<A>;
  T p = fused(C::c6, r, C::c5);
  p = fused(p, r, C::c4);
  p = fused(p, r, C::c3);
  p = fused(p, r, C::c2);
  return fused(p, r, C::c1);
}

// exp(A z) for |A z| < 87
template <int A, class T>
EVONET_FN T exp_of(T z) {
  Reduced<T> x = reduce_exp<A>(z);
  return fused(exp_slope<A>(x.r), x.r, 1.0f) * x.scale;
}

// exp(A z) - 1 for |A z| < 87, accurate near 0 too: (2^k - 1) + 2^k (exp(A r) - 1)
template <int A, class T>
EVONET_FN T expm1_of(T z) {
  Reduced<T> x = reduce_exp<A>(z);
  return fused(exp_slope<A>(x.r) * x.r, x.scale, x.scale - 1.0f);
}

// tanh(5/2 z) for |z| < 17. With h = tanh(5/2 r) and exp(5 z) = 2^k (1 + h) / (1 - h) it is
// ((2^k + 1) h + (2^k - 1)) / ((2^k - 1) h + (2^k + 1)): exactly odd, and exactly h for small z.
template <class T>
EVONET_FN T tanh_of_5_halves(T z) {
  T rounded = fused(z, ExpOf<5>::log2e, kRound);
  T k = rounded - kRound;
  T r = fused(k, -ExpOf<5>::ln2_hi, z);  // k ln2_lo would not reach the last bit
  T scale = from_bits<T>(to_bits(rounded) << 23);
  T u = r * r;
  T p = fused(0x1.99ae24p+3f, u, -0x1.4d5004p+2f);
  T h = fused(p, u, 2.5f) * r;
  T difference = 1.0f - scale;  // negated below, so that -0 stays -0
  T sum = 1.0f + scale;
  return fused(h, sum, -difference) / fused(h, -difference, sum);
}

// sin(5 z) for |5 z| <= 60
template <class T>
EVONET_FN T sin_of_5(T z) {
  constexpr float round = 12582912.0f;
  T rounded = fused(z, 0x1.976fc8p+0f, round);  // 5 / pi
  T k = rounded - round;
  T r = fused(k, -0x1.41b2f8p-1f, z);  // exact
  r = fused(k, 0x1.2c61e4p-26f, r);
  T u = r * r;
  T p = fused(0x1.45b432p+2f, u, -0x1.ef3d2p+3f);
  p = fused(p, u, 0x1.a0a73ep+4f);
  p = fused(p, u, -0x1.4d554cp+4f);
  p = fused(p, u, 5.0f) * r;
  return from_bits<T>(to_bits(p) ^ (to_bits(rounded) << 31));  // odd k: the other half wave
}

// log(1 + e) / 5 / e for 0 <= e <= 1
template <class T>
EVONET_FN T log1p_slope_of_5th(T e) {
  T p = fused(-0x1.e2a6dep-11f, e, 0x1.568c9ep-8f);
  p = fused(p, e, -0x1.c4f32ep-7f);
  p = fused(p, e, 0x1.853c9p-6f);
  p = fused(p, e, -0x1.079fecp-5f);
  p = fused(p, e, 0x1.471046p-5f);
  p = fused(p, e, -0x1.99d2c8p-5f);
  p = fused(p, e, 0x1.11173cp-4f);
  p = fused(p, e, -0x1.9999f4p-4f);
  return fused(p, e, 0x1.99999ap-3f);
}

// log(x) for normal x > 0
template <class T>
EVONET_FN T log_float(T x) {
  Bits<T> offset = to_bits(x) - 0x3f3504f3;  // sqrt(1/2): the mantissa lies in [sqrt(1/2), sqrt(2))
  T k = from_bits<T>(((offset + 0x3f800000) >> 23) | 0x4b000000) - (8388608.0f + 127.0f);
  T f = from_bits<T>((offset & 0x007fffff) + 0x3f3504f3) - 1.0f;
  T p = fused(-0x1.3371b4p-4f, f, 0x1.06e426p-3f);
  p = fused(p, f, -0x1.0f71ep-3f);
  p = fused(p, f, 0x1.22a724p-3f);
  p = fused(p, f, -0x1.542832p-3f);
  p = fused(p, f, 0x1.99a20ap-3f);
  p = fused(p, f, -0x1.000418p-2f);
  p = fused(p, f, 0x1.55555p-2f);
  p = fused(p, f, -0x1.fffff8p-2f);
  T tail = fused(f * f, p, k * ExpOf<1>::ln2_lo);
  return fused(k, ExpOf<1>::ln2_hi, f + tail);
}

// ---- double ---------------------------------------------------------------------------------

static constexpr double kLog2e = 0x1.71547652b82fep+0;
static constexpr double kLn2Hi = 0x1.62e42fefa38p-1, kLn2Lo = 0x1.ef35793c7673p-45;
static constexpr double kRound64 = 6755399441055744.0 + 1023.0;

// exp(x) for |x| < 700
template <class T>
EVONET_FN T exp_double(T x) {
  T rounded = x * kLog2e + kRound64;
  T k = rounded - kRound64;
  T hi = x - k * kLn2Hi;  // exact
  T lo = k * kLn2Lo;
  T r = hi - lo;
  T p = 0x1.1fd2dd9bb41bbp-29 * r + 0x1.af746473b7382p-26;
  p = p * r + 0x1.27e474d1d1e56p-22;
  p = p * r + 0x1.71ddeaa6c9614p-19;
  p = p * r + 0x1.a01a01e256e5bp-16;
  p = p * r + 0x1.a01a01b5f3399p-13;
  p = p * r + 0x1.6c16c16c0a436p-10;
  p = p * r + 0x1.111111110e54bp-7;
  p = p * r + 0x1.555555555556cp-5;
  p = p * r + 0x1.555555555555dp-3;
  p = p * r + 0.5;
  T tail = r * r * p - lo;
  T head = 1.0 + hi;
  T y = head + (((1.0 - head) + hi) + tail);  // what 1 + hi lost comes back: 0.56 ulp in all
  return y * from_bits<T>(to_bits(rounded) << 52);
}

// tanh(x) for |x| <= 60
template <class T>
EVONET_FN T tanh_double(T x) {
  T rounded = x * (2.0 * kLog2e) + kRound64;
  T k = rounded - kRound64;
  T hi = x - k * (0.5 * kLn2Hi);
  T r = hi - k * (0.5 * kLn2Lo);
  T scale = from_bits<T>(to_bits(rounded) << 52);
  T u = r * r;
  T p = -0x1.6c0ef8285e18bp-10 * u + 0x1.d66ad3a158266p-9;
  p = p * u + -0x1.226d9371e49d5p-7;
  p = p * u + 0x1.664f47736a4bap-6;
  p = p * u + -0x1.ba1ba1b92e247p-5;
  p = p * u + 0x1.1111111110e25p-3;
  p = p * u + -0x1.5555555555555p-2;
  T h = r + r * u * p;
  T difference = 1.0 - scale;
  T sum = 1.0 + scale;
  return (h * sum - difference) / (sum - h * difference);
}

// sin(x) for |x| <= 60
template <class T>
EVONET_FN T sin_double(T x) {
  constexpr double round = 6755399441055744.0;
  T rounded = x * 0x1.45f306dc9c883p-2 + round;
  T k = rounded - round;
  T hi = x - k * 0x1.921fb54442dp+1;  // exact
  T lo = k * 0x1.8469898cc517p-47;
  T r = hi - lo;
  T rest = (hi - r) - lo;
  T u = r * r;
  T p = 0x1.8832753dc4631p-49 * u + -0x1.ae4382f4d1a40p-41;
  p = p * u + 0x1.6123cd02f923dp-33;
  p = p * u + -0x1.ae6454d468823p-26;
  p = p * u + 0x1.71de3a52a0a1ap-19;
  p = p * u + -0x1.a01a01a014d6ep-13;
  p = p * u + 0x1.11111111110c8p-7;
  p = p * u + -0x1.5555555555555p-3;
  p = r + (r * u * p + rest);
  return from_bits<T>(to_bits(p) ^ (to_bits(rounded) << 63));
}

// log(x) for normal x > 0, after fdlibm: log(1 + f) = f - s (f - R), s = f / (2 + f)
template <class T>
EVONET_FN T log_double(T x) {
  Bits<T> offset = to_bits(x) - 0x3fe6a09e667f3bcd;
  // The biased exponent, as a double, without a 64-bit conversion that SSE2 and AVX2 lack.
  T k = from_bits<T>(((offset + 0x3ff0000000000000) >> 52) | 0x4330000000000000) -
             (4503599627370496.0 + 1023.0);
  T f = from_bits<T>((offset & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;
  T s = f / (2.0 + f);
  T z = s * s;
  T p = 1.479819860511658591e-01 * z + 1.531383769920937332e-01;
  p = p * z + 1.818357216161805012e-01;
  p = p * z + 2.222219843214978396e-01;
  p = p * z + 2.857142874366239149e-01;
  p = p * z + 3.999999999940941908e-01;
  p = p * z + 6.666666666666735130e-01;
  p = p * z;
  T half_square = 0.5 * f * f;
  T tail = s * (half_square + p) + k * kLn2Lo;
  return k * kLn2Hi - ((half_square - tail) - f);
}

EVONET_NAMESPACE_END
