// distance.h: how far genomes are apart. Nodes match by key; connections match by their ends, as in
// neat-python 2.0: one that was deleted and added again has another innovation number, but is the
// same connection still.
//
// A genome is measured against up to 16 standards at once: each of its genes is looked up once in
// their common dictionary, and a row there holds what every standard has under that word.
#pragma once

#include "genetics/gene_rules.h"
#include "genetics/standards.h"
#include "numerics/key_table.h"

EVONET_NAMESPACE_BEGIN

template <class V>
EVONET_FN V read_lanes(const Lane<V>* from) {
  if constexpr (!kIsVector<V>) {
    return *from;
  } else {
    V lanes;
    __builtin_memcpy(&lanes, from, sizeof(V));
    return lanes;
  }
}

// The slot of a word, or the free one where it belongs.
template <class T>
EVONET_FN int64 slot_of(const GeneDictionary<T>& dictionary, int64 first, int64 second) {
  return find_slot(dictionary.slots, dictionary.slot_bits, hash_pair(first, second),
                   [&](int32 word) {
                     return dictionary.first[word] == first && dictionary.second[word] == second;
                   });
}

// Notes what a standard has under a word: node or connection i of its genome.
template <class T>
EVONET_FN void put_node(const Standards<T>& standards, int lane, int32 word,
                        const Genome<T>& genome, int32 i) {
  T* row = standards.nodes.rows + int64(word) * NODE_ROWS * kStandards + lane;
  row[NODE_HELD * kStandards] = T(1);
  row[NODE_BIAS * kStandards] = genome.genes.bias[i];
  row[NODE_RESPONSE * kStandards] = genome.genes.response[i];
  row[NODE_TIME * kStandards] = genome.genes.time_constant[i];
  row[NODE_ACT * kStandards] = T(genome.genes.activation[i]);
  row[NODE_AGG * kStandards] = T(genome.genes.aggregation[i]);
}

template <class T>
EVONET_FN void put_link(const Standards<T>& standards, int lane, int32 word,
                        const Genome<T>& genome, int32 i) {
  T* row = standards.links.rows + int64(word) * LINK_ROWS * kStandards + lane;
  row[LINK_HELD * kStandards] = T(1);
  row[LINK_WEIGHT * kStandards] = genome.genes.weight[i];
  row[LINK_ENABLED * kStandards] = genome.genes.enabled[i] ? T(1) : T(0);
  standards.numbers[int64(word) * kStandards + lane] = genome.genes.innovation[i];
}

template <class T>
EVONET_FN int64 last_innovation(const Genome<T>& genome) {
  return genome.num_conns > 0 ? genome.genes.innovation[genome.num_conns - 1] : -1;
}

template <class T>
EVONET_FN void put_sizes(Standards<T>& standards, int lane, const Genome<T>& genome) {
  standards.num_nodes[lane] = T(genome.num_nodes);
  standards.num_conns[lane] = T(genome.num_conns);
  standards.last[lane] = last_innovation(genome);
}

// The word of each node and connection of a genome, or -1.
template <class T>
EVONET_FN void look_up(const GeneDictionary<T>& of_nodes, const GeneDictionary<T>& of_links,
                       const Genome<T>& genome, int32* node_words, int32* link_words) {
  const GeneDictionary<T> nodes = of_nodes, links = of_links;  // which stores cannot change
  for (int32 i = 0; i < genome.num_nodes; ++i) {
    node_words[i] = nodes.slots[slot_of(nodes, genome.genes.node_key[i], 0)];
  }
  for (int32 i = 0; i < genome.num_conns; ++i) {
    link_words[i] = links.slots[slot_of(links, genome.genes.source[i], genome.genes.target[i])];
  }
}

template <class V>
EVONET_FN V difference(V a, V b) {
  return magnitude(a - b);
}

// (sum + coefficient * unmatched + more) / larger number of genes, or 0 without any.
template <class V>
EVONET_FN V per_gene(V sum, V matched, V count, V counts, Lane<V> coefficient, V more) {
  const V unmatched = count + counts - (matched + matched);
  const V larger = count > counts ? count : counts;
  const V total = sum + all<V>(coefficient) * unmatched + more;
  return larger > Lane<V>(0) ? total / larger : all<V>(Lane<V>(0));
}

// differs(word, i) may be false where node i and every standard that has it differ in their bias
// alone: what is left out then would be 0.
template <class V, class T, class Differs>
EVONET_FN V node_distance(const Standards<T>& standards, int lane, const Genome<T>& genome,
                          const int32* words, const DistanceRules<T>& rules, Differs differs) {
  const V zero = all<V>(T(0)), one = all<V>(T(1));
  V sum = zero, matched = zero;
  for (int32 i = 0; i < genome.num_nodes; ++i) {
    if (words[i] < 0) continue;
    const T* row = standards.nodes.rows + int64(words[i]) * NODE_ROWS * kStandards + lane;
    const auto has = [&](int attribute) { return read_lanes<V>(row + attribute * kStandards); };
    V d = difference(has(NODE_BIAS), all<V>(genome.genes.bias[i]));
    if (differs(words[i], i)) {
      d = d + difference(has(NODE_RESPONSE), all<V>(genome.genes.response[i]));
      d = d + difference(has(NODE_TIME), all<V>(genome.genes.time_constant[i]));
      d = d + (has(NODE_ACT) == all<V>(T(genome.genes.activation[i])) ? zero : one);
      d = d + (has(NODE_AGG) == all<V>(T(genome.genes.aggregation[i])) ? zero : one);
    }
    const V held = has(NODE_HELD);
    sum = sum + (held > T(0) ? d * all<V>(rules.weight) : zero);
    matched = matched + held;
  }
  return per_gene(sum, matched, read_lanes<V>(standards.num_nodes + lane),
                  all<V>(T(genome.num_nodes)), rules.disjoint, zero);
}

// Unmatched genes beyond the other genome's last innovation are excess, the others disjoint.
template <class T>
EVONET_FN int32 count_excess(const Standards<T>& standards, int lane, const Genome<T>& genome,
                             const int32* words) {
  const int64 last = last_innovation(genome);
  int32 excess = 0;
  for (int32 word = 0; word < standards.links.num_words; ++word) {
    const T* row = standards.links.rows + int64(word) * LINK_ROWS * kStandards + lane;
    const int64 number = standards.numbers[int64(word) * kStandards + lane];
    excess += row[LINK_HELD * kStandards] > T(0) && number > last;
  }
  for (int32 i = 0; i < genome.num_conns; ++i) {
    const bool held =
        words[i] >= 0 && standards.links.rows[int64(words[i]) * LINK_ROWS * kStandards +
                                              LINK_HELD * kStandards + lane] > T(0);
    if (held) {
      excess -= standards.numbers[int64(words[i]) * kStandards + lane] > last;
    } else {
      excess += genome.genes.innovation[i] > standards.last[lane];
    }
  }
  return excess;
}

template <class V, class T>
EVONET_FN V link_distance(const Standards<T>& standards, int lane, const Genome<T>& genome,
                          const int32* words, const DistanceRules<T>& rules) {
  const V zero = all<V>(T(0));
  V sum = zero, matched = zero;
  for (int32 i = 0; i < genome.num_conns; ++i) {
    if (words[i] < 0) continue;
    const T* row = standards.links.rows + int64(words[i]) * LINK_ROWS * kStandards + lane;
    const V enabled = all<V>(genome.genes.enabled[i] ? T(1) : T(0));
    V d = difference(read_lanes<V>(row + LINK_WEIGHT * kStandards), all<V>(genome.genes.weight[i]));
    d = d + (read_lanes<V>(row + LINK_ENABLED * kStandards) == enabled
                 ? zero
                 : all<V>(rules.enable_penalty));
    const V held = read_lanes<V>(row + LINK_HELD * kStandards);
    sum = sum + (held > T(0) ? d * all<V>(rules.weight) : zero);
    matched = matched + held;
  }
  V more = zero;
  if (rules.excess != rules.disjoint) {
    T excess[sizeof(V) / sizeof(T)];
    for (int i = 0; i < int(sizeof(V) / sizeof(T)); ++i) {
      excess[i] = T(count_excess(standards, lane + i, genome, words));
    }
    more = all<V>(rules.excess - rules.disjoint) * read_lanes<V>(excess);
  }
  return per_gene(sum, matched, read_lanes<V>(standards.num_conns + lane),
                  all<V>(T(genome.num_conns)), rules.disjoint, more);
}

// The distances to the standards from `lane` on, as many as V has lanes; see node_distance.
template <class V, class T, class Differs>
EVONET_FN V distances_to(const Standards<T>& standards, int lane, const Genome<T>& genome,
                         const int32* node_words, const int32* link_words,
                         const DistanceRules<T>& rules, Differs differs) {
  const V links = link_distance<V>(standards, lane, genome, link_words, rules);
  if (!rules.include_nodes) return links;
  return node_distance<V>(standards, lane, genome, node_words, rules, differs) + links;
}

EVONET_NAMESPACE_END
