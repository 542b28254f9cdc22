// node_blocks_view.h: a schedule's nodes in blocks that read the same links, as plain pointers for
// the translation units of all instruction sets; node_blocks.h makes them.
#pragma once

#include <cstdint>

namespace evonet {

// Nodes of one level that read the same slots in the same order, or any others, one after the
// other.
struct NodeBlock {
  int32_t num_nodes;  // 8, 4, 2 or 1 that share their links; 0 for a run of any nodes
  int32_t num_links;  // of each
  int64_t source;     // first of the shared links in the schedule
  int64_t weight;     // first of the weights, [num_links][num_nodes]; for 1 node in the schedule
  int64_t first;      // first of its nodes in `node`; of a run, the first node in the schedule
  int64_t end;        // of a run
  int activation;
};

template <class T>
struct NodeBlocksView {
  const NodeBlock* block;
  const int64_t* node;     // by block: the node in the schedule
  const T* weight;         // packed by block
  int64_t num_segments;    // of consecutive levels
  const int64_t* segment;  // [S + 1] first block of each
  const int64_t* links;    // [S] links that each computes
  // [S] slots that are read from the segment on, or are outputs: live[start[s] .. start[s + 1]).
  const int32_t* live;
  const int64_t* live_start;
  // [S] whether samples whose live values are all +0 keep all later values at +0.
  const bool* may_drop;
};

}  // namespace evonet
