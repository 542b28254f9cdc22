// activation_rows.h: the formulas of activations.h on rows of numbers.
#pragma once

#include "native/function_rows.h"
#include "native/simd.h"
#include "nodes/dispatch.h"

EVONET_NAMESPACE_BEGIN

// Vectors that a formula works on at once. The processor itself overlaps one vector of floats with
// the next; formulas for doubles are longer than what it looks ahead, so that the compiler has to
// mix the instructions of several.
template <class T>
constexpr int kAtOnce = sizeof(T) == 8 && kVectorBytes >= 32 ? 4 : 1;

template <class Activation, int N, class T>
EVONET_FN void activate_vectors(T* row) {
  using V = FullVector<T>;
  V v[N];
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) v[i] = load<V>(row + i * kVectorLanes<T>);
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) v[i] = Activation::apply(v[i]);
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) store(row + i * kVectorLanes<T>, v[i]);
}

template <class Activation, class T>
void activate_with(T* row, int count) {
  if (count == 1) {  // a vector would take as long as all its lanes
    row[0] = Activation::apply(row[0]);
    return;
  }
  constexpr int kStep = kAtOnce<T> * kVectorLanes<T>;
  int i = 0;
  for (; i + kStep <= count; i += kStep) activate_vectors<Activation, kAtOnce<T>>(row + i);
  for (; i < count; i += kVectorLanes<T>) activate_vectors<Activation, 1>(row + i);
}

template <class T>
ActivateRow<T> activation_on_rows(int id) {
  static constexpr ActivateRow<T> kActivations[] = {
#define EVONET_ACTIVATION(ID, name, formula) &activate_with<Activation_##name, T>,
#include "nodes/functions.def"
  };
  return kActivations[id];
}

template <class T>
void activate_row(int id, T* row, int count) {
  if (id < NUM_ACTIVATIONS) {
    activation_on_rows<T>(id)(row, count);
  } else if (const Program<T>* program = custom_activation<T>(id)) {
    activate_by(*program, row, count);
  }
}

EVONET_NAMESPACE_END
