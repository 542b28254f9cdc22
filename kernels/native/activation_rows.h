// activation_rows.h: the formulas of activations.h on rows of numbers.
#pragma once

#include "native/function_rows.h"
#include "native/simd.h"
#include "nodes/dispatch.h"

EVONET_NAMESPACE_BEGIN

// One copy of the formula serves a single number too, as a vector in which all lanes hold it.
template <class Activation, class T>
void activate_with(T* row, int count) {
  using V = FullVector<T>;
  for (int i = 0;;) {
    const V y = Activation::apply(count == 1 ? broadcast<V>(row[0]) : load<V>(row + i));
    if (count == 1) {
      row[0] = y[0];
      return;
    }
    store(row + i, y);
    i += kVectorLanes<T>;
    if (i >= count) return;
  }
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
