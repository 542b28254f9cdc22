// node.h: one node, act(bias + response * agg(w v)), for the N samples that a CUDA thread has. The
// native kernels run the same pieces over vectors of samples.
#pragma once

#include "nodes/aggregations.h"
#include "nodes/custom_functions.h"
#include "nodes/dispatch.h"

EVONET_NAMESPACE_BEGIN

// A value for each sample of a thread, loaded and stored at once.
template <class T, int N>
struct alignas(N * sizeof(T)) Samples {
  T at[N];
};

// A node as kernels see it: its genes and how many links it has.
template <class T>
struct NodeGenes {
  T bias, response;
  int32 num_links;
  int activation, aggregation;
};

// Links come from an object that offers
//   each(count, visit)        visit(back, weight) for every link in order, made for speed
//   one_by_one(count, visit)  the same, made for little code
//   anywhere(count)           an object whose weight(i) and back(i) give link i at any time
// and each of which may be called once for a node. back is the node's own slot
// minus the source's. Values offer value(back), the samples at that slot, and value.one(back, k),
// the k-th of them, to read and to write; 0 is the node's own.
template <class Fold, class T, int N, class Links, class Values>
EVONET_FN Samples<T, N> fold_links(Links& links, int32 num_links, Values value) {
  Samples<T, N> folded{};
  bool first = true;
  links.one_by_one(num_links, [&](int32 back, T weight) {
    const Samples<T, N> v = value(back);
    EVONET_UNROLL
    for (int k = 0; k < N; ++k) {
      folded.at[k] =
          first ? Fold::first(weight, v.at[k]) : Fold::next(folded.at[k], weight, v.at[k]);
    }
    first = false;
  });
  return folded;
}

// Starting at 0 is starting with the first link: agg_sum_first adds it to 0.
template <class T, int N, class Links, class Values>
EVONET_FN Samples<T, N> sum_links(Links& links, int32 num_links, Values value) {
  Samples<T, N> sum{};
  links.each(num_links, [&](int32 back, T weight) {
    const Samples<T, N> v = value(back);
    EVONET_UNROLL
    for (int k = 0; k < N; ++k) sum.at[k] = agg_sum_next(sum.at[k], weight, v.at[k]);
  });
  return sum;
}

// One sample after the other, for what needs much code and many registers and is rare: join(x) sees
// number i as x(i), as often as it likes. The node's own slot keeps those that are done.
template <class T, int N, class Links, class Values, class Join>
EVONET_FN Samples<T, N> join_each(Links& stream, int32 num_links, Values value, Join join) {
  const auto links = stream.anywhere(num_links);
  EVONET_KEEP_LOOP
  for (int k = 0; k < N; ++k) {
    value.one(0, k) = join([&](int32 i) { return links.weight(i) * value.one(links.back(i), k); });
  }
  return value(0);
}

template <class T, int N, class Links, class Values>
EVONET_FN Samples<T, N> join_links(int aggregation, Links& links, int32 num_links, Values value) {
  Samples<T, N> joined;
  if (num_links == 0) {
    EVONET_UNROLL
    for (int k = 0; k < N; ++k) joined.at[k] = agg_empty<T>(aggregation);
    return joined;
  }
  if constexpr (kHasCustomAggregations) {
    if (aggregation >= NUM_AGGREGATIONS) {
      return join_each<T, N>(links, num_links, value,
                             [&](auto x) { return join_by_custom<T>(aggregation, num_links, x); });
    }
  }
  switch (aggregation) {
#define EVONET_FOLD(ID, name, formula) \
  case AGG_##ID:                       \
    return fold_links<Fold_##name, T, N>(links, num_links, value);
#include "nodes/functions.def"
    case AGG_MEDIAN:
      return join_each<T, N>(links, num_links, value,
                             [&](auto x) { return median_of<T>(num_links, x); });
    default:
      joined = sum_links<T, N>(links, num_links, value);
  }
  if (aggregation == AGG_MEAN) {
    EVONET_UNROLL
    for (int k = 0; k < N; ++k) {
      joined.at[k] = agg_finish(aggregation, joined.at[k], T(num_links));
    }
  }
  return joined;
}

// Writes the value of the node to its own slot.
template <class T, int N, class Links, class Values>
EVONET_FN void evaluate_node(const NodeGenes<T>& node, Links& links, Values value) {
  Samples<T, N> z = join_links<T, N>(node.aggregation, links, node.num_links, value);
  const auto activate = [&](auto activation) {
    EVONET_UNROLL
    for (int k = 0; k < N; ++k) {
      z.at[k] = activation.apply(preactivation(node.bias, node.response, z.at[k]));
    }
  };
  with_activation(node.activation, activate);
  if constexpr (kHasCustomActivations) {
    if (node.activation >= NUM_ACTIVATIONS) with_custom_activation(node.activation, activate);
  }
  value(0) = z;
}

EVONET_NAMESPACE_END
