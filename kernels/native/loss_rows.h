// loss_rows.h: the loss of one genome, SIMD over samples.
#pragma once

#include "loss.h"
#include "native/simd.h"

EVONET_NAMESPACE_BEGIN

// Reads number o of the samples first, first + 1, ... of [B, O], one per lane; beyond the last
// sample it repeats the last.
template <class T, class V>
struct SampleColumns {
  const T* rows;
  int64_t first, num_samples, num_outputs;

  V operator()(int o) const {
    constexpr int kCount = sizeof(V) / sizeof(T);
    if (num_outputs == 1 && first + kCount <= num_samples) return load<V>(rows + first);
    T column[kCount];
    for (int i = 0; i < kCount; ++i) {
      const int64_t b = first + i < num_samples ? first + i : num_samples - 1;
      column[i] = rows[b * num_outputs + o];
    }
    return load<V>(column);
  }
};

// y and targets are [B, O].
template <class T>
T loss_rows(int loss, const T* y, const T* targets, int64_t num_samples, int64_t num_outputs) {
  using V = Vector<T, kLossLanes>;
  constexpr int kCount = kLanes<T, kLossLanes>;
  T lanes[kLossLanes] = {};
  for (int64_t begin = 0; begin < num_samples; begin += kCount) {
    const V terms = sample_loss<V>(loss, static_cast<int>(num_outputs),
                                   SampleColumns<T, V>{y, begin, num_samples, num_outputs},
                                   SampleColumns<T, V>{targets, begin, num_samples, num_outputs});
    T* const sums = lanes + begin % kLossLanes;
    for (int i = 0; i < kCount && begin + i < num_samples; ++i) sums[i] += terms[i];
  }
  for (int half = kLossLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return canonical(lanes[0]);
}

EVONET_NAMESPACE_END
