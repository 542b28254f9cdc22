// derivatives.h: slopes of the activations, and how aggregations pass an adjoint on to their links.
// A function is differentiated as it is computed: where it is clipped, its slope is 0. At kinks
// relu, abs, hat, clamped and inv have slope 0, and lelu, elu and selu that of the left side.
#pragma once

#include "nodes/activations.h"
#include "nodes/aggregations.h"

EVONET_NAMESPACE_BEGIN

// slope_NAME(z, y) is the derivative at z, where the activation's value is y.

template <class T>
EVONET_FN T within(T z, Lane<T> limit, T inside) {
  return magnitude(z) < all<T>(limit) ? inside : T{};
}

template <class T>
EVONET_FN T slope_sigmoid(T z, T y) {
  return within(z, 12, Lane<T>(5) * (y * (Lane<T>(1) - y)));
}

// Beyond its clips tanh is 1, and this 0.
template <class T>
EVONET_FN T slope_tanh(T, T y) {
  return Lane<T>(2.5) * ((Lane<T>(1) - y) * (Lane<T>(1) + y));
}

template <class T>
EVONET_FN T slope_sin(T z, T) {
  if constexpr (kIsFloat<T>)
    return within(z, 12, 5.0f * cos_of_5(z));
  else
    return within(z, 12, 5.0 * wave_double<1>(5.0 * z));
}

template <class T>
EVONET_FN T slope_gauss(T z, T y) {
  return within(z, Lane<T>(3.4), Lane<T>(-10) * (z * y));
}

template <class T>
EVONET_FN T slope_relu(T z, T) {
  return z > T{} ? all<T>(Lane<T>(1)) : T{};
}

template <class T>
EVONET_FN T slope_elu(T z, T y) {
  return z > T{} ? all<T>(Lane<T>(1)) : y + Lane<T>(1);
}

template <class T>
EVONET_FN T slope_lelu(T z, T) {
  return z > T{} ? all<T>(Lane<T>(1)) : all<T>(Lane<T>(0.005));
}

template <class T>
EVONET_FN T slope_selu(T z, T y) {
  constexpr Lane<T> lambda(1.0507009873554805),
      lambda_alpha(1.0507009873554805 * 1.6732632423543772);
  return z > T{} ? all<T>(lambda) : y + lambda_alpha;
}

template <class T>
EVONET_FN T slope_softplus(T z, T) {
  return within(z, 12, activate_sigmoid(z));
}

template <class T>
EVONET_FN T slope_identity(T, T) {
  return all<T>(Lane<T>(1));
}

template <class T>
EVONET_FN T slope_clamped(T z, T) {
  return within(z, 1, all<T>(Lane<T>(1)));
}

template <class T>
EVONET_FN T slope_inv(T, T y) {
  return -(y * y);
}

template <class T>
EVONET_FN T slope_log(T z, T) {
  return z > all<T>(Lane<T>(1e-7)) ? Lane<T>(1) / z : T{};
}

template <class T>
EVONET_FN T slope_exp(T z, T y) {
  return within(z, 60, y);
}

template <class T>
EVONET_FN T sign_of(T z) {
  return z > T{} ? all<T>(Lane<T>(1)) : (z < T{} ? all<T>(Lane<T>(-1)) : T{});
}

template <class T>
EVONET_FN T slope_abs(T z, T) {
  return sign_of(z);
}

template <class T>
EVONET_FN T slope_hat(T z, T) {
  return within(z, 1, -sign_of(z));
}

template <class T>
EVONET_FN T slope_square(T z, T) {
  return z + z;
}

template <class T>
EVONET_FN T slope_cube(T z, T) {
  return Lane<T>(3) * (z * z);
}

// Each slope as a type, as dispatch.h has the activations.
#define EVONET_ACTIVATION(ID, name, formula) \
  struct Slope_##name {                      \
    template <class T>                       \
    static EVONET_METHOD T at(T z, T y) {    \
      return slope_##name(z, y);             \
    }                                        \
  };
#include "nodes/functions.def"

template <class Visit>
EVONET_FN void with_slope(int id, Visit visit) {
  switch (id) {
#define EVONET_ACTIVATION(ID, name, formula) \
  case ACT_##ID:                             \
    return visit(Slope_##name());
#include "nodes/functions.def"
  }
}

// Aggregations join x_i = w_i v_i; d is the adjoint of the result, and dx_i that of x_i:
//
//   sum               dx_i = d
//   mean              dx_i = d / n
//   product           dx_i = d (before_i behind_i), before_i the product of all earlier x in link
//                     order and behind_i = x_(i+1) behind_(i+1), 1 at the ends: right with zeros,
//                     too
//   max, min, maxabs  d for the first link that is_chosen, 0 for the others
//   median            d or d / 2 for the links of median_links; d / n for n <= 2
//
// A NaN is never chosen.

// Whether all links share one dx.
EVONET_FN bool spreads_evenly(int aggregation) {
  return aggregation == AGG_SUM || aggregation == AGG_MEAN;
}

template <class T>
EVONET_FN auto is_chosen(int aggregation, T x, T joined) {
  return aggregation == AGG_MAXABS ? magnitude(x) == magnitude(joined) : x == joined;
}

// The links in the middle of n > 2, ordered by number and then by position; the same twice if n is
// odd, -1 if there is a NaN.
struct MedianLinks {
  int lower, upper;
};

template <class T, class Numbers>
EVONET_FN MedianLinks median_links(int n, Numbers x) {
  Bits<T> low = order_key(x(0)), high = low;
  for (int i = 0; i < n; ++i) {
    const T number = x(i);
    if (number != number) return {-1, -1};
    const Bits<T> key = order_key(number);
    low = key < low ? key : low;
    high = key > high ? key : high;
  }
  const int rank = (n + 1) / 2;
  const Bits<T> middle = key_of_rank<T>(n, rank, low, high, x);
  int left = rank;  // to the lower middle, once smaller numbers are passed over
  for (int i = 0; i < n; ++i) left -= order_key(x(i)) < middle ? 1 : 0;
  MedianLinks found{-1, -1};
  Bits<T> next = high;
  int above = -1;
  for (int i = 0; i < n; ++i) {
    const Bits<T> key = order_key(x(i));
    if (key == middle) {
      --left;
      if (left == 0) found.lower = i;
      if (left == -1) found.upper = i;
    } else if (key > middle && (above < 0 || key < next)) {
      next = key;
      above = i;
    }
  }
  if (n % 2 == 1) return {found.lower, found.lower};
  return {found.lower, found.upper < 0 ? above : found.upper};
}

EVONET_NAMESPACE_END
