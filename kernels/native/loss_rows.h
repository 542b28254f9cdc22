// loss_rows.h: the loss of one genome, SIMD over samples.
#pragma once

#include "native/function_rows.h"
#include "native/simd.h"
#include "nodes/loss.h"

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

// y and targets are [B, O]; out is the sum and its rest.
template <class T>
void loss_rows(int loss, const T* y, const T* targets, int64_t num_samples, int64_t num_outputs,
               T* out) {
  using V = Vector<T, kLossLanes>;
  constexpr int kCount = kLanes<T, kLossLanes>;
  LossSum<V> lanes[kLossLanes / kCount] = {};
  for (int64_t begin = 0; begin < num_samples; begin += kCount) {
    const SampleColumns<T, V> output{y, begin, num_samples, num_outputs};
    const SampleColumns<T, V> target{targets, begin, num_samples, num_outputs};
    LossSum<V>& lane = lanes[begin % kLossLanes / kCount];
    const LossSum<V> more =
        add_losses(lane, sample_loss<V>(loss, static_cast<int>(num_outputs), output, target));
    for (int i = 0; i < kCount; ++i) {
      if (begin + i >= num_samples) break;
      lane.sum[i] = more.sum[i];
      lane.rest[i] = more.rest[i];
    }
  }
  LossSum<T> totals[kLossLanes];
  for (int i = 0; i < kLossLanes; ++i) {
    totals[i] = {lanes[i / kCount].sum[i % kCount], lanes[i / kCount].rest[i % kCount]};
  }
  for (int half = kLossLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) totals[i] = add_losses(totals[i], totals[i + half]);
  }
  const LossSum<T> total = finish_loss(totals[0]);
  out[0] = total.sum;
  out[1] = total.rest;
}

EVONET_NAMESPACE_END
