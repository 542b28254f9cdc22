// evolution_kernels.h: the portable operators behind evolution.h's function table.
#pragma once

#include "genetics/breeding.h"
#include "genetics/distance.h"
#include "genetics/first_genome.h"
#include "native/evolution.h"
#include "native/prepared_draws.h"
#include "native/simd.h"

EVONET_NAMESPACE_BEGIN

template <class T>
void breed_one(Child<T>& child, const Genome<T>& fitter, const Genome<T>& other, bool same_parent,
               const GenomeRules<T>& rules, int num_inputs, int num_outputs, RandomSource random,
               uint32_t index) {
  PreparedDraws draws(Draws{random.seed, random.generation, index});
  breed(child, fitter, other, same_parent, rules, num_inputs, num_outputs, draws);
}

template <class T>
void first_one(Child<T>& child, const FirstPlan& plan, const GenomeRules<T>& rules,
               RandomSource random, uint32_t index) {
  make_first_genome(child, plan, rules, Draws{random.seed, random.generation, index});
}

// The word of a gene, which is added if it is missing, without rows.
template <class T>
int32 learn(GeneDictionary<T>& dictionary, int64 first, int64 second, int num_groups, int* row) {
  const int64 slot = slot_of(dictionary, first, second);
  if (dictionary.slots[slot] < 0) {
    const int32 word = dictionary.num_words++;
    dictionary.slots[slot] = word;
    dictionary.first[word] = first;
    dictionary.second[word] = second;
    for (int i = 0; i < num_groups; ++i) row[int64(word) * num_groups + i] = -1;
  }
  return dictionary.slots[slot];
}

// The row of a word in a group, which is added if it is missing.
template <class T>
int32 row_of(int& row, GeneDictionary<T>& rows, int attributes) {
  if (row < 0) {
    row = rows.num_words++;
    T* const numbers = rows.rows + int64(row) * attributes * kStandards;
    for (int i = 0; i < attributes * kStandards; ++i) numbers[i] = T(0);
  }
  return row;
}

template <class T>
bool agrees(const SharedNode<T>& shared, const ConstGenes<T>& genes, int32 i) {
  return shared.response == genes.response[i] && shared.time_constant == genes.time_constant[i] &&
         shared.activation == genes.activation[i] && shared.aggregation == genes.aggregation[i];
}

template <class T>
void add_standard(StandardSection<T>& section, int group_index, const Genome<T>& genome) {
  const int num_groups = section.num_groups;
  StandardGroup<T>& group = section.groups[group_index];
  Standards<T>& standards = group.standards;
  const ConstGenes<T>& genes = genome.genes;
  const int lane = standards.count++;
  for (int32 i = 0; i < genome.num_nodes; ++i) {
    const int64 word = learn(section.nodes, genes.node_key[i], 0, num_groups, section.node_row);
    int& row = section.node_row[word * num_groups + group_index];
    const bool fresh = row < 0;
    put_node(standards, lane, row_of(row, standards.nodes, NODE_ROWS), genome, i);
    SharedNode<T>& shared = group.shared[row];
    if (fresh) {
      shared = {true, genes.activation[i], genes.aggregation[i], genes.response[i],
                genes.time_constant[i]};
    }
    shared.agree = shared.agree && agrees(shared, genes, i);
  }
  for (int32 i = 0; i < genome.num_conns; ++i) {
    const int64 word =
        learn(section.links, genes.source[i], genes.target[i], num_groups, section.link_row);
    int& row = section.link_row[word * num_groups + group_index];
    put_link(standards, lane, row_of(row, standards.links, LINK_ROWS), genome, i);
  }
  put_sizes(standards, lane, genome);
}

template <class T>
void measure(const StandardSection<T>& section, const Genome<T>& genome,
             const DistanceRules<T>& rules, int* words, T* distances) {
  using V = Vector<T, kStandards>;
  const int32 nodes = genome.num_nodes, links = genome.num_conns;
  const int64 num_groups = section.num_groups;
  int* const rows = words + nodes + links;
  look_up(section.nodes, section.links, genome, words, words + nodes);
  for (int64 k = 0; k < num_groups; ++k, distances += kStandards) {
    const StandardGroup<T>& group = section.groups[k];
    const auto find_rows = [&](int32 begin, int32 end, const int* row) {
      for (int32 i = begin; i < end; ++i) {
        rows[i] = words[i] < 0 ? -1 : row[words[i] * num_groups + k];
      }
    };
    find_rows(0, nodes, section.node_row);
    find_rows(nodes, nodes + links, section.link_row);
    const auto differs = [&](int32 row, int32 i) {
      return !(group.shared[row].agree && agrees(group.shared[row], genome.genes, i));
    };
    for (int lane = 0; lane < group.standards.count; lane += kLanes<T, kStandards>) {
      store(distances + lane,
            distances_to<V>(group.standards, lane, genome, rows, rows + nodes, rules, differs));
    }
  }
}

// Whether any number is below its limit.
template <class T>
bool any_below(const T* numbers, const T* limits, int64_t count) {
  using V = Vector<T, kStandards>;
  constexpr int kCount = kLanes<T, kStandards>;
  int64_t i = 0;
  Bits<V> below{};
  for (; i + kCount <= count; i += kCount) {
    below |= load<V>(numbers + i) < load<V>(limits + i);
  }
  bool found = false;
  for (int k = 0; k < kCount; ++k) found |= below[k] != 0;
  for (; i < count; ++i) found |= numbers[i] < limits[i];
  return found;
}

// The position of the first of the smallest numbers, or -1 if none is below the limit.
template <class T>
int64_t first_least(const T* numbers, int64_t count, T limit) {
  using V = Vector<T, kStandards>;
  constexpr int kCount = kLanes<T, kStandards>;
  int64_t i = 0;
  V lowest = all<V>(limit);
  for (; i + kCount <= count; i += kCount) {
    const V some = load<V>(numbers + i);
    lowest = some < lowest ? some : lowest;
  }
  T least = limit;
  for (int k = 0; k < kCount; ++k) least = lowest[k] < least ? lowest[k] : least;
  for (; i < count; ++i) least = numbers[i] < least ? numbers[i] : least;
  if (!(least < limit)) return -1;
  int64_t at = 0;
  while (numbers[at] != least) ++at;
  return at;
}

inline int64_t cycle_scratch_of(int64_t num_nodes, int64_t num_conns) {
  return cycle_scratch(num_nodes, num_conns);
}

template <class T>
constexpr EvolutionKernels<T> kEvolution = {&cycle_scratch_of, &breed_one<T>, &first_one<T>,
                                            &add_standard<T>,  &measure<T>,   &any_below<T>,
                                            &first_least<T>};

EVONET_NAMESPACE_END
