// output_rows.h: from rows of samples [O, width] to samples of outputs [width, O], as callers read
// them. Small networks spend a third of their time here if it goes number by number.
#pragma once

#include "native/simd.h"

EVONET_NAMESPACE_BEGIN

template <int O, class T>
EVONET_FN void store_samples(const T* const* rows, int width, T* y) {
  using V = FullVector<T>;
  constexpr int kCount = kVectorLanes<T>;
  for (int b = 0; b < width; b += kCount, y += O * kCount) {
    V v[O];
    for (int o = 0; o < O; ++o) v[o] = load<V>(rows[o] + b);
    if constexpr (O == 2) interleave(v[0], v[1], v[0], v[1]);
    if constexpr (O == 4) {
      V even[2], odd[2];
      interleave(v[0], v[2], even[0], even[1]);
      interleave(v[1], v[3], odd[0], odd[1]);
      interleave(even[0], odd[0], v[0], v[1]);
      interleave(even[1], odd[1], v[2], v[3]);
    }
    for (int o = 0; o < O; ++o) store(y + o * kCount, v[o]);
  }
}

// Rows of whole vectors by their slots in values; false for numbers of outputs that have no code of
// their own, and if an output is never evaluated.
template <class T>
EVONET_FN bool store_whole_samples(const T* values, const int32_t* slot, int64_t outputs, int width,
                                   T* y) {
  constexpr int kMost = 4;
  if (outputs > kMost || outputs == 3) return false;
  const T* rows[kMost];
  for (int64_t o = 0; o < outputs; ++o) {
    if (slot[o] < 0) return false;
    rows[o] = values + int64_t{slot[o]} * width;
  }
  if (outputs == 1) store_samples<1>(rows, width, y);
  if (outputs == 2) store_samples<2>(rows, width, y);
  if (outputs == 4) store_samples<4>(rows, width, y);
  return true;
}

EVONET_NAMESPACE_END
