// fma_peak.h: the most float multiply-adds that registers alone can sustain, the yardstick for
// the forward pass.
#pragma once

#include "native/simd.h"

EVONET_NAMESPACE_BEGIN

// Runs `turns` turns of independent chains; returns the number of multiply-adds done.
inline int64_t spin_fma(int64_t turns, float* sink) {
  constexpr int kWidth = kVectorBytes / sizeof(float);
  constexpr int kChains = 12;  // hides the latency of two FMA ports, fits 16 registers
  using V = Vector<float, kWidth>;
  V chain[kChains];
  for (int i = 0; i < kChains; ++i) chain[i] = broadcast<V>(float(i));
  const V scale = broadcast<V>(*sink);
  for (int64_t t = 0; t < turns; ++t) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) chain[i] = multiply_add(chain[i], scale, scale);
  }
  V sum = chain[0];
  for (int i = 1; i < kChains; ++i) sum = sum + chain[i];
  *sink = sum[0];
  return turns * kChains * kWidth;
}

EVONET_NAMESPACE_END
