// node.h: one node for one sample, act(bias + response * agg(w v)). A CUDA thread calls this; the
// native kernels run the same pieces over vectors of samples.
#pragma once

#include "activations.h"
#include "aggregations.h"

EVONET_NAMESPACE_BEGIN

template <class T>
EVONET_FN T preactivation(T bias, T response, T aggregate) {
  return multiply_add(response, aggregate, bias);
}

// Joins num_links weighted values; value(i) is the source of link i, wherever it is stored.
// scratch holds num_links numbers and is touched by the median only.
template <class T, class Source>
EVONET_FN T aggregate_links(int aggregation, int num_links, const T* weights, Source value,
                            T* scratch) {
  if (num_links == 0) return agg_empty<T>(aggregation);
  T acc;
#define EVONET_FOLD(name)                         \
  acc = agg_##name##_first(weights[0], value(0)); \
  for (int i = 1; i < num_links; ++i) acc = agg_##name##_next(acc, weights[i], value(i))
  switch (aggregation) {
    case AGG_PRODUCT:
      EVONET_FOLD(product);
      break;
    case AGG_MAX:
      EVONET_FOLD(max);
      break;
    case AGG_MIN:
      EVONET_FOLD(min);
      break;
    case AGG_MAXABS:
      EVONET_FOLD(maxabs);
      break;
    case AGG_MEDIAN:
      for (int i = 0; i < num_links; ++i) scratch[i] = weights[i] * value(i);
      return median_inplace(scratch, num_links);
    default:
      EVONET_FOLD(sum);
  }
#undef EVONET_FOLD
  return agg_finish(aggregation, acc, T(num_links));
}

template <class T, class Source>
EVONET_FN T evaluate_node(T bias, T response, int activation, int aggregation, int num_links,
                          const T* weights, Source value, T* scratch) {
  T joined = aggregate_links(aggregation, num_links, weights, value, scratch);
  return activate(activation, preactivation(bias, response, joined));
}

EVONET_NAMESPACE_END
