// convolution.h: one layer of a front for images: convolution, bias, activation and pooling.
//
// A map lies as [height, width, channels], with its padding. The sum of an output runs over the
// rows of its window, the columns of a row and the channels of a pixel, in this order, which is the
// order in which they lie in memory: a window's row is one run of numbers.
//
// Inputs that are 0, of either sign, contribute nothing: they may be skipped or added, and the bits
// are the same. For weights are finite, so that such a term is 0, and adding 0 changes nothing but
// the sign of a 0; finish_sum removes that. Infinity and NaN are not 0 and are never skipped.
#pragma once

#include "images/conv_shape.h"
#include "numerics/portable.h"

EVONET_NAMESPACE_BEGIN

// What the activation is applied to; never -0.
template <class T>
EVONET_FN T finish_sum(T sum, T bias) {
  return (sum + bias) + T{};
}

// The larger one, and the first where neither is: a NaN stays if it came first.
template <class T>
EVONET_FN T pool_largest(T a, T b) {
  return b > a ? b : a;
}

// The mean from a sum that was taken in the order of memory; infinities may cancel to a NaN there.
template <class T>
EVONET_FN T pool_mean(T sum, Lane<T> count) {
  return canonical(sum / all<T>(count));
}

// ---- the way back ----
//
// A term of a gradient is an adjoint times a number of the map or a weight. Terms whose adjoint is
// 0 contribute nothing, whatever they are multiplied by; nor do inputs that are 0, to the gradient
// of a weight. So both may be skipped, and the bits are the same.

// Adds a term to the gradient of a weight; the adjoint is not 0.
template <class T>
EVONET_FN T add_slope(T adjoint, T input, T sum) {
  const T more = multiply_add(adjoint, input, sum);
  return input != T{} ? more : sum;
}

// What a pixel of a mean gets of the mean's adjoint.
template <class T>
EVONET_FN T unpool_mean(T adjoint, Lane<T> count) {
  return adjoint / all<T>(count);
}

// The end of a sum: never -0, and NaN is the canonical one.
template <class T>
EVONET_FN T finish_slope(T sum) {
  return canonical(sum + T{});
}

EVONET_NAMESPACE_END
