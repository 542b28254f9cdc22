// expression.h: the functions that expressions may name, for every argument. Where the
// activations clip, these do not: exp overflows to infinity and underflows through denormals to 0,
// log(0) is -infinity, a NaN stays one. T is a number or a vector type of the compiler.
#pragma once

#include "numerics/elementary.h"

EVONET_NAMESPACE_BEGIN

template <class T>
EVONET_FN T infinity() {
  if constexpr (kIsFloat<T>)
    return all<T>(from_bits<float>(0x7f800000));
  else
    return all<T>(from_bits<double>(0x7ff0000000000000));
}

template <class T>
EVONET_FN T not_a_number() {
  if constexpr (kIsFloat<T>)
    return all<T>(from_bits<float>(0x7fc00000));
  else
    return all<T>(from_bits<double>(0x7ff8000000000000));
}

// -limit to limit; unlike a clip, it leaves NaN alone.
template <class T>
EVONET_FN T limited(T x, Lane<T> limit) {
  return at_least(all<T>(-limit), at_most(all<T>(limit), x));
}

// x 2^k, for a k that 2^k itself may not have room for: half of it at a time, so that only the last
// product rounds.
template <class T>
EVONET_FN T times_power_of_2(T x, T k) {
  const Lane<T> round = kIsFloat<T> ? Lane<T>(kRound) : Lane<T>(kRoundDouble);
  T rounded = multiply_add(k, all<T>(Lane<T>(0.5)), all<T>(round));
  T rest = k - (rounded - round);
  return x * power_of_2(rounded) * power_of_2(rest + round);
}

template <class T>
EVONET_FN T expression_exp(T x) {
  if constexpr (kIsFloat<T>) {
    x = at_least(all<T>(-104), at_most(all<T>(89), x));
    T k = fused(x, Ln2::inverse, kRound) - kRound;
    T r = fused(k, -Ln2::lo, fused(k, -Ln2::hi, x));
    return times_power_of_2(fused(exp_slope(r), r, 1.0f), k);
  } else {
    x = at_least(all<T>(-746), at_most(all<T>(710), x));
    T k = rounded_log2(x) - kRoundDouble;
    return times_power_of_2(exp_near_0(x, k), k);
  }
}

template <class T>
EVONET_FN T expression_log(T x) {
  T y;
  if constexpr (kIsFloat<T>) {
    auto small = x < all<T>(0x1p-126f);
    y = log_float(small ? x * 0x1p23f : x, small ? all<T>(23) : T{});
  } else {
    auto small = x < all<T>(0x1p-1022);
    y = log_double(small ? x * 0x1p52 : x, small ? all<T>(52) : T{});
  }
  T outside = x == T{} ? -infinity<T>() : not_a_number<T>();
  T inside = x < infinity<T>() ? y : x;
  return x > T{} ? inside : outside;
}

// tanh(x): as tanh_of_5_halves, in units of ln2 / 2 and with its coefficients divided by powers of
// 5/2.
template <class T>
EVONET_FN T tanh_float(T x) {
  T size = at_most(all<T>(10), magnitude(x));
  T rounded = fused(size - 0.1725f, 0x1.715476p+1f, kRound);
  T k = rounded - kRound;
  T r = fused(k, -0x1.62e43p-2f, size);
  T u = r * r;
  T h = r * polynomial(u, 0x1.3edf98p-6f, -0x1.b82b62p-5f, 0x1.110c38p-3f, -0x1.55554ep-2f, 1.0f);
  T scale = power_of_2(rounded);
  T n = fused(h, scale + 1.0f, scale - 1.0f);
  return copy_sign(n / (n + fused(h, -2.0f, 2.0f)), x);
}

template <class T>
EVONET_FN T expression_tanh(T x) {
  if constexpr (kIsFloat<T>)
    return tanh_float(x);
  else
    return tanh_double(limited(x, 60));
}

// Sine and cosine take arguments beyond a million for a million: a float there has no digits left
// that say where in the wave it is. Three parts of pi are enough for all before.
constexpr int kWidest = 1000000;

template <class T>
EVONET_FN T or_nan_if_infinite(T y, T x) {
  return x - x == T{} ? y : not_a_number<T>();
}

// x = k pi/2 + r + rest
template <int kAhead, class T>
EVONET_FN T wide_wave_double(T x) {
  T rounded = x * 0x1.45f306dc9c883p-1 + kQuarterRound;
  T k = rounded - kQuarterRound;
  T hi = x - k * 0x1.921fb544p+0;  // exact, and so is the next product
  T middle = k * 0x1.0b4611a6p-34;
  T r = hi - middle;
  T back = r - hi;
  T rest = (hi - (r - back)) - (middle + back);  // what r lost
  rest = rest - k * 0x1.3198a2e037073p-69;
  T sum = r + rest;
  return wave_near_0<kAhead>(sum, (r - sum) + rest, rounded);
}

template <class T>
EVONET_FN T expression_sin(T x) {
  if constexpr (kIsFloat<T>)
    return or_nan_if_infinite(sin_float(limited(x, kWidest)), x);
  else
    return or_nan_if_infinite(wide_wave_double<0>(limited(x, kWidest)), x);
}

template <class T>
EVONET_FN T expression_cos(T x) {
  if constexpr (kIsFloat<T>) {
    T z = limited(x, kWidest);
    T rounded = fused(z, 0x1.45f306p-2f, 12582912.0f);
    T past = fused(rounded - 12582912.0f, -0x1.921fb6p+1f, z);  // past the nearest k pi
    return or_nan_if_infinite(cos_before(z, past < T{} ? rounded - 1.0f : rounded), x);
  } else {
    return or_nan_if_infinite(wide_wave_double<1>(limited(x, kWidest)), x);
  }
}

template <class T>
EVONET_FN T expression_floor(T x) {
  // Numbers this large are whole, and adding it to a smaller one rounds that to a whole one.
  const Lane<T> whole = kIsFloat<T> ? Lane<T>(8388608) : Lane<T>(4503599627370496);
  T size = magnitude(x);
  T near = copy_sign((size + whole) - whole, x);
  T below = near > x ? near - Lane<T>(1) : near;
  return size < all<T>(whole) ? below : x;
}

EVONET_NAMESPACE_END
