// control.h: what control tasks share. A task is a type with its sizes and three functions: reset
// makes the first state of an episode from one draw, observe writes a network's inputs, wherever
// they lie, step lets outputs act on a state. T is a number, or a vector that holds as many
// episodes as it has lanes; only + - * / and elementary.h are used, so every chip rounds alike.
#pragma once

#include "numerics/elementary.h"
#include "numerics/philox.h"

EVONET_NAMESPACE_BEGIN

// The result of a step. In a lane whose episode ended, `ended` is not 0.
template <class T>
struct Outcome {
  T reward;
  Bits<T> ended;
};

// The position of the largest of N outputs, the first of equals. A NaN is never larger.
template <int N, class T>
EVONET_FN T largest(const T* output) {
  T best = output[0], chosen = T{};
  for (int i = 1; i < N; ++i) {
    auto larger = output[i] > best;
    chosen = larger ? all<T>(Lane<T>(i)) : chosen;
    best = larger ? output[i] : best;
  }
  return chosen;
}

// x clipped to -limit..limit; a NaN becomes the limit.
template <class T>
EVONET_FN T held(T x, Lane<T> limit) {
  return at_least(at_most(x, all<T>(limit)), all<T>(-limit));
}

// low to high, evenly distributed.
template <class T>
EVONET_FN T between(T low, T high, uint32 word) {
  return low + (high - low) * uniform<T>(word);
}

// x - 2 pi k, between -pi and pi, for |x| <= 60. Two parts of 2 pi, for floats that have no digits
// to spare.
template <class T>
EVONET_FN T wrapped(T x) {
  using L = Lane<T>;
  constexpr L round(kIsFloat<T> ? 12582912.0 : 6755399441055744.0);
  T k = (x * L(0.15915494309189535) + round) - round;
  if constexpr (kIsFloat<T>)
    return (x - k * L(6.28125)) - k * L(0.0019353071795864769);  // the first product is exact
  else
    return x - k * L(6.283185307179586);
}

// One step of the classic fourth-order method of Runge and Kutta; derive(y, slope) fills slope.
template <int N, class T, class Derive>
EVONET_FN void runge_kutta(T* y, Lane<T> seconds, Derive derive) {
  using L = Lane<T>;
  T slope[4][N], moved[N];
  derive(y, slope[0]);
  for (int i = 0; i < N; ++i) moved[i] = y[i] + (L(0.5) * seconds) * slope[0][i];
  derive(moved, slope[1]);
  for (int i = 0; i < N; ++i) moved[i] = y[i] + (L(0.5) * seconds) * slope[1][i];
  derive(moved, slope[2]);
  for (int i = 0; i < N; ++i) moved[i] = y[i] + seconds * slope[2][i];
  derive(moved, slope[3]);
  for (int i = 0; i < N; ++i) {
    T twice = L(2) * slope[1][i] + L(2) * slope[2][i];
    y[i] = y[i] + (seconds / L(6)) * ((slope[0][i] + twice) + slope[3][i]);
  }
}

EVONET_NAMESPACE_END
