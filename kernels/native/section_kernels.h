// section_kernels.h: fills a section of standards, and measures genomes against all of them.
#pragma once

#include "genetics/distance.h"
#include "native/simd.h"
#include "native/standard_section.h"

EVONET_NAMESPACE_BEGIN

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

EVONET_NAMESPACE_END
