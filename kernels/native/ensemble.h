// ensemble.h: different networks side by side in the lanes of vectors, for episodes that no other
// episode of the same genome could share a vector with. A group holds as many networks as it has
// lanes, node by node and link by link; a shorter node is filled up with links that add nothing.
// Row I + k of the values is the k-th node of every lane, whatever slots their schedules name, so
// that one store serves all lanes; loading a network finds the rows that its links read.
#pragma once

#include <cstdint>

namespace evonet {

// Ids of activations, as bits.
constexpr int kMostActivations = 64;

// W lanes per group; rows of W numbers, one per lane. Row first_row[k] + j is link j of node k.
template <class T>
struct Ensemble {
  int64_t max_nodes, num_rows, num_inputs, num_outputs;
  const int64_t* first_row;  // [max_nodes]
  T* bias;                   // [groups, max_nodes, W]
  T* response;               // [groups, max_nodes, W]
  T* weight;                 // [groups, num_rows, W]
  T* values;                 // [slots + 1, W], the row behind the nodes always 0
  T* cell;                   // [groups, max_nodes, parameters, W]; see cells.h
  int32_t* source;           // [groups, num_rows, W] position in values
  int32_t* output;           // [groups, num_outputs, W] position in values
  int32_t* activation;       // [groups, max_nodes, W]
  int32_t* num_links;        // [groups, max_nodes, W]
  int32_t* most_links;       // [groups, max_nodes] of any lane
  uint64_t* activations;     // [groups, max_nodes] a bit for each one in use
  int32_t* num_nodes;        // [lanes]
  int32_t* most_nodes;       // [groups]
  int32_t* slot_row;         // [slots] row of each slot: inputs always, others while loading
  int kind, num_states, num_parameters;
  int64_t steps;
  T time_step;
};

}  // namespace evonet
