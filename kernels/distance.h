// distance.h: how far apart two genomes are, by a merge of their sorted genes.
#pragma once

#include "gene_rules.h"
#include "genome_view.h"
#include "portable.h"

EVONET_NAMESPACE_BEGIN

template <class T>
EVONET_FN T difference(T a, T b) {
  return magnitude(a - b);
}

template <class T>
EVONET_FN T node_distance(const Genome<T>& a, const Genome<T>& b, const DistanceRules<T>& rules) {
  T sum = T(0);
  int32 i = 0, j = 0, disjoint = 0;
  while (i < a.num_nodes && j < b.num_nodes) {
    const int64 p = a.genes.node_key[i], q = b.genes.node_key[j];
    if (p == q) {
      T d = difference(a.genes.bias[i], b.genes.bias[j]) +
            difference(a.genes.response[i], b.genes.response[j]);
      d = d + difference(a.genes.time_constant[i], b.genes.time_constant[j]);
      d = d + (a.genes.activation[i] != b.genes.activation[j] ? T(1) : T(0));
      d = d + (a.genes.aggregation[i] != b.genes.aggregation[j] ? T(1) : T(0));
      sum = sum + d * rules.weight;
      ++i;
      ++j;
    } else {
      ++disjoint;
      i += p < q;
      j += p > q;
    }
  }
  disjoint += (a.num_nodes - i) + (b.num_nodes - j);
  const int32 larger = a.num_nodes > b.num_nodes ? a.num_nodes : b.num_nodes;
  return larger == 0 ? T(0) : (sum + rules.disjoint * T(disjoint)) / T(larger);
}

// Genes beyond the other genome's last innovation are excess, the other unmatched ones disjoint.
template <class T>
EVONET_FN T connection_distance(const Genome<T>& a, const Genome<T>& b,
                                const DistanceRules<T>& rules) {
  T sum = T(0);
  int32 i = 0, j = 0, disjoint = 0;
  while (i < a.num_conns && j < b.num_conns) {
    const int64 p = a.genes.innovation[i], q = b.genes.innovation[j];
    if (p == q) {
      if (a.genes.source[i] == b.genes.source[j] && a.genes.target[i] == b.genes.target[j]) {
        T d = difference(a.genes.weight[i], b.genes.weight[j]);
        d = d + (a.genes.enabled[i] != b.genes.enabled[j] ? rules.enable_penalty : T(0));
        sum = sum + d * rules.weight;
      } else {
        disjoint += 2;
      }
      ++i;
      ++j;
    } else {
      ++disjoint;
      i += p < q;
      j += p > q;
    }
  }
  const int32 excess = (a.num_conns - i) + (b.num_conns - j);
  const int32 larger = a.num_conns > b.num_conns ? a.num_conns : b.num_conns;
  if (larger == 0) return T(0);
  return (sum + rules.disjoint * T(disjoint) + rules.excess * T(excess)) / T(larger);
}

template <class T>
EVONET_FN T distance(const Genome<T>& a, const Genome<T>& b, const DistanceRules<T>& rules) {
  const T connections = connection_distance(a, b, rules);
  return rules.include_nodes ? node_distance(a, b, rules) + connections : connections;
}

EVONET_NAMESPACE_END
