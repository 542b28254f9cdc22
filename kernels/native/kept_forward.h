// kept_forward.h: the forward pass of one genome on a block of samples, with everything kept that
// the reverse pass needs: what each node's links gave, beside its value.
#pragma once

#include "native/function_rows.h"
#include "native/gradient_call.h"
#include "native/simd.h"
#include "nodes/aggregations.h"
#include "nodes/dispatch.h"

EVONET_NAMESPACE_BEGIN

template <class V, int R, class T>
EVONET_FN void sum_links(const T* values, const int32_t* source, const T* weight, int64_t count,
                         V* sum) {
  constexpr int kCount = sizeof(V) / sizeof(T), W = R * kCount;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) sum[r] = V{};
  for (int64_t e = 0; e < count; ++e) {
    const V w = broadcast<V>(weight[e]);
    const T* const row = values + int64_t{source[e]} * W;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) sum[r] = agg_sum_next(sum[r], w, load<V>(row + r * kCount));
  }
}

// Nodes [begin, end) that sum, with their activation in the same loop: see fused_runs.h.
template <class Activation, class V, int R, class T>
__attribute__((noinline)) void sum_kept_nodes(const ScheduleView<T>& s, int64_t begin, int64_t end,
                                              T* values, T* joined) {
  constexpr int kCount = sizeof(V) / sizeof(T), W = R * kCount;
  const int32_t *const slot = s.slot, *const source = s.source;
  const T* const weight = s.weight;
  int64_t edge = s.edge_start[begin];
  for (int64_t k = begin; k < end; ++k, joined += W) {
    const int64_t next = s.edge_start[k + 1];
    T* const row = values + int64_t{slot[k]} * W;
    const V bias = broadcast<V>(s.bias[k]), response = broadcast<V>(s.response[k]);
    V sum[R];
    sum_links<V, R>(values, source + edge, weight + edge, next - edge, sum);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      store(joined + r * kCount, sum[r]);
      store(row + r * kCount, Activation::apply(preactivation(bias, response, sum[r])));
    }
    edge = next;
  }
}

template <class T>
using SumKeptNodes = void (*)(const ScheduleView<T>& s, int64_t begin, int64_t end, T* values,
                              T* joined);

// The commonest activations, or null.
template <class T, int R>
SumKeptNodes<T> kept_nodes_with(int activation) {
  using V = FullVector<T>;
  switch (R <= 4 ? activation : NUM_ACTIVATIONS) {
    case ACT_SIGMOID:
      return &sum_kept_nodes<Activation_sigmoid, V, R, T>;
    case ACT_TANH:
      return &sum_kept_nodes<Activation_tanh, V, R, T>;
    case ACT_RELU:
      return &sum_kept_nodes<Activation_relu, V, R, T>;
    case ACT_IDENTITY:
      return &sum_kept_nodes<Activation_identity, V, R, T>;
    default:
      return nullptr;
  }
}

// The links of one node over a row of any width.
template <class T>
struct LinkRows {
  const T* values;
  const int32_t* source;
  const T* weight;
  int64_t count;
  int width;

  template <class V>
  EVONET_METHOD V x(int64_t e, int at) const {
    return broadcast<V>(weight[e]) * value<V>(e, at);
  }
  template <class V>
  EVONET_METHOD V value(int64_t e, int at) const {
    return load<V>(values + int64_t{source[e]} * width + at);
  }
};

// Any aggregation of count > 0 links.
template <class T>
__attribute__((noinline)) void join_rows_of(int aggregation, const LinkRows<T>& links, T* scratch,
                                            T* joined) {
  using V = FullVector<T>;
  constexpr int kCount = kVectorLanes<T>;
  const auto fold = [&](auto by) {
    using Fold = decltype(by);
    for (int at = 0; at < links.width; at += kCount) {
      V folded = Fold::first(broadcast<V>(links.weight[0]), links.template value<V>(0, at));
      for (int64_t e = 1; e < links.count; ++e) {
        folded = Fold::next(folded, broadcast<V>(links.weight[e]), links.template value<V>(e, at));
      }
      store(joined + at, folded);
    }
  };
  if (aggregation >= NUM_AGGREGATIONS) {
    const auto never = [](void*) { return false; };
    if (const Program<T>* program = custom_aggregation<T>(aggregation)) {
      aggregate_by<T>(*program, links.values, links.source, links.weight, links.count, links.width,
                      joined, never, nullptr);
    }
    return;
  }
  switch (aggregation) {
#define EVONET_FOLD(ID, name, formula) \
  case AGG_##ID:                       \
    return fold(Fold_##name());
#include "nodes/functions.def"
    case AGG_MEDIAN:
      for (int at = 0; at < links.width; ++at) {
        for (int64_t e = 0; e < links.count; ++e) scratch[e] = links.template x<T>(e, at);
        joined[at] = median_inplace(scratch, static_cast<int>(links.count));
      }
      return;
    default: {
      fold(Fold_sum());
      const V total = broadcast<V>(T(links.count));
      for (int at = 0; at < links.width; at += kCount) {
        store(joined + at, agg_finish(aggregation, load<V>(joined + at), total));
      }
    }
  }
}

EVONET_NAMESPACE_END
