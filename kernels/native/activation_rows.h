// activation_rows.h: the formulas of activations.h on rows of numbers.
#pragma once

#include "native/function_rows.h"
#include "native/simd.h"
#include "nodes/dispatch.h"

EVONET_NAMESPACE_BEGIN

template <class Activation, class T>
void activate_with(T* row, int count) {
  if (count == 1) {  // a vector would take as long as all its lanes
    row[0] = Activation::apply(row[0]);
    return;
  }
  for (int i = 0; i < count; i += kVectorLanes<T>) {
    store(row + i, Activation::apply(load<FullVector<T>>(row + i)));
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
