// lane_group_kernels.h: runs a group of networks side by side on one sample.
#pragma once

#include "native/function_rows.h"
#include "native/isa/isa.h"
#include "native/lane_group_view.h"
#include "native/simd.h"
#include "nodes/aggregations.h"

EVONET_NAMESPACE_BEGIN

#if defined(__AVX2__)
#define EVONET_GATHERS

// Lane i gets values[kUnit * source[i] + i], in numbers.
template <class V, int kUnit, class T>
EVONET_FN V gather_rows(const T* values, const uint16_t* source) {
  constexpr int kCount = sizeof(V) / sizeof(T);
  static_assert(kUnit * sizeof(T) == kRowUnit);
  using Units = typename VectorOf<uint16_t, kCount>::type;
  using Places = typename VectorOf<int32_t, kCount>::type;
  static constexpr int32_t kLane[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const Places at =
      kUnit * __builtin_convertvector(load<Units>(source), Places) + load<Places>(kLane);
  // With masks: GCC warns of the undefined numbers that it starts from without.
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return V(_mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, __m512i(at), values, 4));
  else
    return V(_mm512_mask_i32gather_pd(_mm512_setzero_pd(), 0xff, __m256i(at), values, 8));
#else
  const __m256i all = _mm256_set1_epi32(-1);
  if constexpr (sizeof(T) == 4)
    return V(_mm256_mask_i32gather_ps(_mm256_setzero_ps(), values, __m256i(at),
                                      _mm256_castsi256_ps(all), 4));
  else
    return V(_mm256_mask_i32gather_pd(_mm256_setzero_pd(), values, __m128i(at),
                                      _mm256_castsi256_pd(all), 8));
#endif
}
#endif

// Applies to each lane its own activation.
template <class T>
void activate_lanes(const uint8_t* each, int lanes, T* row) {
  constexpr int W = kGroupLanes<T>;
  T z[W], y[W];
  bool done[W] = {};
  copy_row(z, row, W);
  for (int first = 0; first < lanes; ++first) {
    if (done[first]) continue;
    copy_row(y, z, W);
    activate_row(each[first], y, W);
    for (int lane = first; lane < lanes; ++lane) {
      if (each[lane] != each[first]) continue;
      row[lane] = y[lane];
      done[lane] = true;
    }
  }
}

// Lane i of a row that starts source[i] units into the values.
template <bool kGathers, class V, class T>
EVONET_FN V values_at(const T* values, const uint16_t* source) {
#if defined(EVONET_GATHERS)
  if constexpr (kGathers) return gather_rows<V, kRowUnit / sizeof(T)>(values, source);
#endif
  const char* const bytes = reinterpret_cast<const char*>(values);
  return collect<V, T>(
      [&](int i) { return reinterpret_cast<const T*>(bytes + int64_t{source[i]} * kRowUnit) + i; });
}

// x is [I] for all networks or [P, I]; y is [P, O]; values has room for all rows of the group.
template <bool kGathers, class T>
void run_lane_group(const LaneGroupView<T>& group, const T* x, bool shared, T* values, T* y) {
  using V = FullVector<T>;
  constexpr int kV = kVectorLanes<T>, kRows = 2, W = kGroupLanes<T>;
  const int64_t inputs = group.num_inputs, outputs = group.num_outputs, lanes = group.num_lanes;
  for (int i = 0; i < W; ++i) values[i] = T(0);
  for (int64_t i = 0; i < inputs; ++i) {
    T* const row = values + (1 + i) * W;
    for (int lane = 0; lane < W; ++lane) {
      row[lane] = lane >= lanes ? T(0) : x[shared ? i : group.genome[lane] * inputs + i];
    }
  }
  const T* weight = group.weight;
  const uint16_t* source = group.source;
  T* to = values + (1 + inputs) * W;
  for (int64_t k = 0; k < group.num_steps; ++k, to += W) {
    V sum[kRows] = {};
    const T* const end = weight + int64_t{group.num_links[k]} * W;
    for (; weight < end; weight += W, source += W) {
#pragma GCC unroll 2
      for (int r = 0; r < kRows; ++r) {
        const V v = values_at<kGathers, V>(values + r * kV, source + r * kV);
        sum[r] = agg_sum_next(sum[r], load<V>(weight + r * kV), v);
      }
    }
    const T* const bias = group.genes + 2 * k * W;
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      store(to + r * kV, preactivation(load<V>(bias + r * kV), load<V>(bias + W + r * kV), sum[r]));
    }
    const int32_t activation = group.activation[k];
    if (activation >= 0) {
      activate_row(activation, to, W);
    } else {
      activate_lanes(group.each + k * W, static_cast<int>(lanes), to);
    }
  }
  for (int64_t lane = 0; lane < lanes; ++lane) {
    T* const answer = y + group.genome[lane] * outputs;
    for (int64_t o = 0; o < outputs; ++o) answer[o] = values[group.output[o * W + lane]];
  }
}

EVONET_NAMESPACE_END
