// activations.h: the activation functions of functions.def. Float32 is within 2 ulp of the formula
// for every input. Float64 rounds in neat-python's order and is within 2 ulp of neat-python or,
// where its formula magnifies the last bit of libm's exp or pow, within 2 ulp of the intermediate
// that loses digits: z^2 in gauss, the 1 that elu and selu subtract, the 1 + exp(5z) of softplus,
// and in sigmoid a 1 + exp(-5z) of about 2^53, where the 1 is a tie. Overflow gives infinity, and
// a NaN that comes out is always the canonical one.
#pragma once

#include "nodes/function_ids.h"
#include "numerics/elementary.h"

EVONET_NAMESPACE_BEGIN

template <class T>
EVONET_FN T clip(T x, Lane<T> limit) {
  return at_least(at_most(x, all<T>(limit)), all<T>(-limit));
}

template <class T>
EVONET_FN T activate_sigmoid(T z) {
  if constexpr (kIsFloat<T>) {
    // c / (c + c e), e = exp(-5 z). Any c is right; this one keeps the worst roundings of the
    // three operations from meeting: 1.97 ulp, where c = 1 gives 2.48.
    constexpr float c = 1.34375f;
    Reduced<T> x = reduce<MinusLn2Fifth>(clip(z, 12));
    T p = polynomial(x.r, 0x1.d15836p+4f, -0x1.192aa4p+5f, 0x1.17f4dep+5f, -0x1.bfe99cp+4f,
                     0x1.0cbffep+4f, -5.0f * c, c);
    return c / fused(p, x.scale, c);
  } else {
    return 1.0 / (1.0 + exp_double(-clip(5.0 * z, 60)));
  }
}

template <class T>
EVONET_FN T activate_tanh(T z) {
  if constexpr (kIsFloat<T>)
    return tanh_of_5_halves(clip(z, 4));
  else
    return tanh_double(clip(2.5 * z, 60));
}

template <class T>
EVONET_FN T activate_sin(T z) {
  if constexpr (kIsFloat<T>)
    return sin_of_5(clip(z, 12));
  else
    return sin_double(clip(5.0 * z, 60));
}

template <class T>
EVONET_FN T activate_gauss(T z) {
  if constexpr (kIsFloat<T>) {
    // 3.4 is no float, so a clipped z would be wrong by 27 ulp: select the value there instead.
    T square = z * z;
    T rounded = fused(square, -Ln2Fifth::inverse, kRound);
    T k = rounded - kRound;
    T r = fused(z, -z, k * -0x1.1beap-3f);  // k times these 17 bits of ln2/5 is exact
    r = fused(k, 0x1.00345ap-21f, r);
    T y = fused(exp5_slope(r), r, 1.0f) * power_of_2(rounded);
    return square < 3.4f * 3.4f ? y : all<T>(0x1.87536cp-84f);
  } else {
    z = clip(z, 3.4);
    return exp_double(-5.0 * (z * z));
  }
}

template <class T>
EVONET_FN T activate_relu(T z) {
  return at_least(z, T{});
}

// exp(z) - 1 needs no z below -60, where it is -1; a NaN stays.
template <class T>
EVONET_FN T above_minus_60(T z) {
  return at_least(all<T>(-60), z);
}

template <class T>
EVONET_FN T activate_elu(T z) {
  T y;
  if constexpr (kIsFloat<T>) {
    // 2^k exp(r) - 1 as (2^k - 1) + 2^k (exp(r) - 1): no cancellation near 0
    Reduced<T> x = reduce<Ln2>(above_minus_60(z));
    y = fused(exp_slope(x.r) * x.r, x.scale, x.scale - 1.0f);
  } else {
    y = exp_double(above_minus_60(z)) - 1.0;
  }
  return canonical(z > T{} ? z : y);
}

template <class T>
EVONET_FN T activate_lelu(T z) {
  return canonical(z > T{} ? z : Lane<T>(0.005) * z);
}

template <class T>
EVONET_FN T activate_selu(T z) {
  constexpr Lane<T> lambda(1.0507009873554805),
      lambda_alpha(1.0507009873554805 * 1.6732632423543772);
  T y;
  if constexpr (kIsFloat<T>) {
    // as elu, with lambda alpha in the coefficients
    Reduced<T> x = reduce<Ln2>(above_minus_60(z));
    T p = polynomial(x.r, 0x1.3dc46cp-9f, 0x1.e1fc8cp-7f, 0x1.2c105ep-4f, 0x1.2c0c08p-2f,
                     0x1.c212c8p-1f, lambda_alpha);
    y = fused(p * x.r, x.scale, (x.scale - 1.0f) * lambda_alpha);
  } else {
    y = lambda_alpha * (exp_double(above_minus_60(z)) - 1.0);
  }
  return canonical(z > T{} ? lambda * z : y);
}

template <class T>
EVONET_FN T activate_softplus(T z) {
  if constexpr (kIsFloat<T>) {
    // max(z, 0) + log(1 + e) / 5, e = exp(-5 |z|); what e lost in rounding counts too
    z = clip(z, 12);
    Reduced<T> x = reduce<Ln2Fifth>(-magnitude(z));
    T slope = exp5_slope(x.r);
    T p = fused(slope, x.r, 1.0f);
    T lost = fused(slope, x.r, 1.0f - p) * x.scale;
    T e = p * x.scale;
    T y = fused(lost, 0.15f, at_least(z, T{}));  // 0.15: about the derivative where it matters
    y = fused(log1p_fifth_bend(e), e * e, y);
    return fused(e, 0.2f, y);
  } else {
    return 0.2 * log_double(1.0 + exp_double(clip(5.0 * z, 60)));
  }
}

template <class T>
EVONET_FN T activate_identity(T z) {
  return canonical(z);
}

template <class T>
EVONET_FN T activate_clamped(T z) {
  return clip(z, 1);
}

template <class T>
EVONET_FN T activate_inv(T z) {
  return canonical(z == T{} ? T{} : Lane<T>(1) / z);
}

template <class T>
EVONET_FN T activate_log(T z) {
  T x = at_least(z, all<T>(1e-7));
  T y;
  if constexpr (kIsFloat<T>)
    y = log_float(x);
  else
    y = log_double(x);
  return x - x == T{} ? y : x;  // infinity
}

template <class T>
EVONET_FN T activate_exp(T z) {
  z = clip(z, 60);
  if constexpr (kIsFloat<T>) {
    Reduced<T> x = reduce<Ln2>(z);
    return fused(exp_slope(x.r), x.r, 1.0f) * x.scale;
  } else {
    return exp_double(z);
  }
}

template <class T>
EVONET_FN T activate_abs(T z) {
  return canonical(magnitude(z));
}

template <class T>
EVONET_FN T activate_hat(T z) {
  return at_least(Lane<T>(1) - magnitude(z), T{});
}

template <class T>
EVONET_FN T activate_square(T z) {
  return canonical(z * z);
}

template <class T>
EVONET_FN T activate_cube(T z) {
  return canonical(z * z * z);
}

EVONET_NAMESPACE_END
