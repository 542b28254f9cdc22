// distance.h: how far apart two genomes are. Nodes match by key; connections match by their ends,
// as in neat-python 2.0: one that was deleted and added again has another innovation number, but
// is the same connection still.
//
// A genome that many others are measured against, a Standard, comes with an index of its ends.
#pragma once

#include "gene_rules.h"
#include "genome_view.h"
#include "portable.h"

EVONET_NAMESPACE_BEGIN

// Slots for an index of so many connections: a power of two, at least half of them empty.
EVONET_FN int32 index_slots(int32 num_conns) {
  int32 slots = 4;
  while (slots < 2 * num_conns) slots *= 2;
  return slots;
}

EVONET_FN int32 home_of(int64 source, int64 target, int32 num_slots) {
  const unsigned long long mixed =
      ((unsigned long long)source * 0x9E3779B97F4A7C15ull + (unsigned long long)target) *
      0xBF58476D1CE4E5B9ull;
  return int32(mixed >> 33) & (num_slots - 1);
}

template <class T>
EVONET_FN void build_index(const Standard<T>& standard) {
  for (int32 s = 0; s < standard.num_slots; ++s) standard.slots[s] = -1;
  const ConstGenes<T>& genes = standard.genome.genes;
  for (int32 i = 0; i < standard.genome.num_conns; ++i) {
    int32 s = home_of(genes.source[i], genes.target[i], standard.num_slots);
    while (standard.slots[s] >= 0) s = (s + 1) & (standard.num_slots - 1);
    standard.slots[s] = i;
  }
}

// Where the standard has a connection with these ends, or -1.
template <class T>
EVONET_FN int32 find_ends(const Standard<T>& standard, int64 source, int64 target) {
  const ConstGenes<T>& genes = standard.genome.genes;
  for (int32 s = home_of(source, target, standard.num_slots);;
       s = (s + 1) & (standard.num_slots - 1)) {
    const int32 i = standard.slots[s];
    if (i < 0 || (genes.source[i] == source && genes.target[i] == target)) return i;
  }
}

template <class T>
EVONET_FN T difference(T a, T b) {
  return magnitude(a - b);
}

EVONET_FN int32 larger_of(int32 a, int32 b) { return a > b ? a : b; }

template <class T>
EVONET_FN T node_distance(const Genome<T>& a, const Genome<T>& b, const DistanceRules<T>& rules) {
  T sum = T(0);
  int32 i = 0, j = 0, matched = 0;
  while (i < a.num_nodes && j < b.num_nodes) {
    const int64 p = a.genes.node_key[i], q = b.genes.node_key[j];
    if (p == q) {
      T d = difference(a.genes.bias[i], b.genes.bias[j]) +
            difference(a.genes.response[i], b.genes.response[j]);
      d = d + difference(a.genes.time_constant[i], b.genes.time_constant[j]);
      d = d + (a.genes.activation[i] != b.genes.activation[j] ? T(1) : T(0));
      d = d + (a.genes.aggregation[i] != b.genes.aggregation[j] ? T(1) : T(0));
      sum = sum + d * rules.weight;
      ++matched;
    }
    i += p <= q;
    j += p >= q;
  }
  const int32 disjoint = a.num_nodes + b.num_nodes - 2 * matched;
  const int32 larger = larger_of(a.num_nodes, b.num_nodes);
  return larger == 0 ? T(0) : (sum + rules.disjoint * T(disjoint)) / T(larger);
}

// Genes beyond the other genome's last innovation are excess, the other unmatched ones disjoint.
template <class T>
EVONET_FN T connection_distance(const Standard<T>& standard, const Genome<T>& b,
                                const DistanceRules<T>& rules) {
  const Genome<T>& a = standard.genome;
  const int64 last_a = a.num_conns > 0 ? a.genes.innovation[a.num_conns - 1] : -1;
  const int64 last_b = b.num_conns > 0 ? b.genes.innovation[b.num_conns - 1] : -1;
  T sum = T(0);
  int32 matched = 0, excess = 0;
  for (int32 i = a.num_conns; i > 0 && a.genes.innovation[i - 1] > last_b; --i) ++excess;
  for (int32 j = 0; j < b.num_conns; ++j) {
    const int32 i = find_ends(standard, b.genes.source[j], b.genes.target[j]);
    if (i < 0) {
      excess += b.genes.innovation[j] > last_a;
      continue;
    }
    T d = difference(a.genes.weight[i], b.genes.weight[j]);
    d = d + (a.genes.enabled[i] != b.genes.enabled[j] ? rules.enable_penalty : T(0));
    sum = sum + d * rules.weight;
    excess -= a.genes.innovation[i] > last_b;
    ++matched;
  }
  const int32 disjoint = a.num_conns + b.num_conns - 2 * matched - excess;
  const int32 larger = larger_of(a.num_conns, b.num_conns);
  if (larger == 0) return T(0);
  return (sum + rules.disjoint * T(disjoint) + rules.excess * T(excess)) / T(larger);
}

// What the sizes alone say: at least so far apart. A little less, because products round.
template <class T>
EVONET_FN T least_distance(T coefficient, int32 a, int32 b) {
  const int32 larger = larger_of(a, b), smaller = a + b - larger;
  return larger == 0 ? T(0) : T(0.999) * coefficient * T(larger - smaller) / T(larger);
}

// The distance if it is below the limit, and otherwise some number that is not: nothing here is
// ever subtracted and rounding is monotonic, so a part of the sum tells when to give up.
template <class T>
EVONET_FN T distance(const Standard<T>& a, const Genome<T>& b, const DistanceRules<T>& rules,
                     T limit) {
  const T coefficient = rules.excess < rules.disjoint ? rules.excess : rules.disjoint;
  const T least = least_distance(coefficient, a.genome.num_conns, b.num_conns);
  if (!rules.include_nodes) return least >= limit ? least : connection_distance(a, b, rules);
  const T at_least = least + least_distance(rules.disjoint, a.genome.num_nodes, b.num_nodes);
  if (at_least >= limit) return at_least;
  const T nodes = node_distance(a.genome, b, rules);
  return nodes + least >= limit ? nodes + least : nodes + connection_distance(a, b, rules);
}

EVONET_NAMESPACE_END
