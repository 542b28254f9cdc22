// dictionary.h: up to kStandards genomes as arrays in global memory, and as the Standards that
// distance.h reads. Words are not numbered one after another, as on the CPU: a word has the number
// of the gene that was the first to enter it, counted over all standards, so that they can enter at
// once. Which gene that was depends on timing; what a word's row holds does not.
#pragma once

#include "genetics/distance.h"

EVONET_NAMESPACE_BEGIN

// The arrays of a dictionary, each for `most` genes of every standard.
template <class T>
struct DictionaryArrays {
  int32 most_nodes, most_conns, node_bits, link_bits;
  int32* node_slots;    // [2^node_bits]
  int32* link_slots;    // [2^link_bits]
  int64* node_keys;     // [count * most_nodes, and zeros as many]
  int64* link_ends;     // [2, count * most_conns]
  T* node_rows;         // [count * most_nodes, NODE_ROWS, kStandards]
  T* link_rows;         // [count * most_conns, LINK_ROWS, kStandards]
  int64* link_numbers;  // [count * most_conns, kStandards]
  T* sizes;             // [2, kStandards]
  int64* last;          // [kStandards]

  // All but the sizes.
  EVONET_METHOD void open(Standards<T>& standards, int32 count) const {
    standards.count = count;
    standards.nodes = {
        count * most_nodes, node_bits, node_slots, node_keys, node_keys + int64(count) * most_nodes,
        node_rows};
    standards.links = {
        count * most_conns, link_bits, link_slots, link_ends, link_ends + int64(count) * most_conns,
        link_rows};
    standards.numbers = link_numbers;
  }
};

EVONET_NAMESPACE_END
