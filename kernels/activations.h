// activations.h: the activation functions, in the order of evonet/functions.py. Float32 is within
// 2 ulp of the formula for every input; float64 keeps neat-python's order of rounding. Overflow
// gives infinity, and a NaN that comes out is always the canonical one.
#pragma once

#include "elementary.h"

EVONET_NAMESPACE_BEGIN

enum Activation : unsigned char {
  ACT_SIGMOID,
  ACT_TANH,
  ACT_SIN,
  ACT_GAUSS,
  ACT_RELU,
  ACT_ELU,
  ACT_LELU,
  ACT_SELU,
  ACT_SOFTPLUS,
  ACT_IDENTITY,
  ACT_CLAMPED,
  ACT_INV,
  ACT_LOG,
  ACT_EXP,
  ACT_ABS,
  ACT_HAT,
  ACT_SQUARE,
  ACT_CUBE,
  NUM_ACTIVATIONS
};

template <class T>
EVONET_FN T clip(T x, Lane<T> limit) {
  return at_least(at_most(x, all<T>(limit)), all<T>(-limit));
}

template <class T>
EVONET_FN T activate_sigmoid(T z) {
  if constexpr (kIsFloat<T>) {
    Reduced<T> x = reduce_exp<5>(-clip(z, 12.0f));
    return 1.0f / fused(fused(exp_slope<5>(x.r), x.r, 1.0f), x.scale, 1.0f);
  } else {
    return 1.0 / (1.0 + exp_double(-clip(5.0 * z, 60.0)));
  }
}

template <class T>
EVONET_FN T activate_tanh(T z) {
  if constexpr (kIsFloat<T>) return tanh_of_5_halves(clip(z, 4.0f));  // tanh(10) is 1
  else return tanh_double(clip(2.5 * z, 60.0));
}

template <class T>
EVONET_FN T activate_sin(T z) {
  if constexpr (kIsFloat<T>) return sin_of_5(clip(z, 12.0f));
  else return sin_double(clip(5.0 * z, 60.0));
}

template <class T>
EVONET_FN T activate_gauss(T z) {
  if constexpr (kIsFloat<T>) {
    T square = z * z;
    T rounded = fused(square, -ExpOf<5>::log2e, kRound);
    T k = rounded - kRound;
    T r = fused(z, -z, k * -0x1.1beap-3f);  // k times these 17 bits of ln2/5 is exact
    r = fused(k, 0x1.00345ap-21f, r);
    T y = fused(exp_slope<5>(r), r, 1.0f) * from_bits<T>(to_bits(rounded) << 23);
    return square < 3.4f * 3.4f ? y : all<T>(0x1.87536cp-84f);  // exp(-57.8)
  } else {
    z = clip(z, 3.4);
    return exp_double(-5.0 * (z * z));
  }
}

template <class T>
EVONET_FN T activate_relu(T z) {
  return at_least(z, T{});
}

template <class T>
EVONET_FN T activate_elu(T z) {
  T floored = z < Lane<T>(-60) ? all<T>(-60) : z;  // exp(-60) - 1 is -1; keeps NaN
  if constexpr (kIsFloat<T>) return canonical(z > T{} ? z : expm1_of<1>(floored));
  else return canonical(z > T{} ? z : exp_double(floored) - 1.0);
}

template <class T>
EVONET_FN T activate_lelu(T z) {
  return canonical(z > T{} ? z : Lane<T>(0.005) * z);
}

template <class T>
EVONET_FN T activate_selu(T z) {
  T floored = z < Lane<T>(-60) ? all<T>(-60) : z;
  if constexpr (kIsFloat<T>) {
    T e = expm1_of<1>(floored);
    return canonical(z > T{} ? 0x1.0cfabep+0f * z : fused(e, 0x1.c212ccp+0f, e * 0x1.903c0cp-26f));
  } else {
    constexpr double lambda = 1.0507009873554805, alpha = 1.6732632423543772;
    return canonical(z > T{} ? lambda * z : lambda * alpha * (exp_double(floored) - 1.0));
  }
}

template <class T>
EVONET_FN T activate_softplus(T z) {
  if constexpr (kIsFloat<T>) {
    z = clip(z, 12.0f);
    T e = exp_of<5>(-magnitude(z));
    return fused(e, log1p_slope_of_5th(e), at_least(z, T{}));
  } else {
    return 0.2 * log_double(1.0 + exp_double(clip(5.0 * z, 60.0)));
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
  if constexpr (kIsFloat<T>) y = log_float(x);
  else y = log_double(x);
  return x - x == T{} ? y : x;  // infinity
}

template <class T>
EVONET_FN T activate_exp(T z) {
  if constexpr (kIsFloat<T>) return exp_of<1>(clip(z, 60.0f));
  else return exp_double(clip(z, 60.0));
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

// An unknown id is the identity; whoever builds a schedule has checked ids.
template <class T>
EVONET_FN T activate(int id, T z) {
  switch (id) {
    case ACT_SIGMOID: return activate_sigmoid(z);
    case ACT_TANH: return activate_tanh(z);
    case ACT_SIN: return activate_sin(z);
    case ACT_GAUSS: return activate_gauss(z);
    case ACT_RELU: return activate_relu(z);
    case ACT_ELU: return activate_elu(z);
    case ACT_LELU: return activate_lelu(z);
    case ACT_SELU: return activate_selu(z);
    case ACT_SOFTPLUS: return activate_softplus(z);
    case ACT_CLAMPED: return activate_clamped(z);
    case ACT_INV: return activate_inv(z);
    case ACT_LOG: return activate_log(z);
    case ACT_EXP: return activate_exp(z);
    case ACT_ABS: return activate_abs(z);
    case ACT_HAT: return activate_hat(z);
    case ACT_SQUARE: return activate_square(z);
    case ACT_CUBE: return activate_cube(z);
    default: return activate_identity(z);
  }
}

EVONET_NAMESPACE_END
