// cells.h: what nodes remember, as CUDA threads see it. The last slots of a genome with n nodes
// hold their states: all first ones, node by node, then all second ones, n slots further on. The
// kind is chosen when a kernel runs, not when it is compiled: a cell costs little beside the links
// of its node.
#pragma once

#include "cuda/schedule.h"
#include "nodes/cells.h"

EVONET_NAMESPACE_BEGIN

// How networks with memory work through time; the arrays begin at the first node of a launch.
template <class T>
struct Memory {
  int kind, num_states;
  T time_step;
  const T* cell;  // [N, kParameters]
};

// Gives a node its first state; `states` is the column seen from the first of them.
template <class T, int N>
EVONET_FN void begin_node(const Memory<T>& memory, int64 node, int32 num_nodes,
                          Column<T, N> states) {
  with_cell(memory.kind, [&](auto cell) {
    using Cell = decltype(cell);
    T state[Cell::kStates + 1];
    Cell::begin(memory.cell + node * Cell::kParameters, state);
    EVONET_UNROLL
    for (int c = 0; c < Cell::kStates; ++c) {
      EVONET_UNROLL
      for (int k = 0; k < N; ++k) states.one(-c * num_nodes, k) = state[c];
    }
  });
}

template <class T, int N>
EVONET_FN void settle_node(const Memory<T>& memory, int64 node, int32 num_nodes, Column<T, N> own,
                           Column<T, N> states) {
  with_cell(memory.kind, [&](auto cell) {
    using Cell = decltype(cell);
    T parameter[Cell::kParameters + 1];
    EVONET_UNROLL
    for (int i = 0; i < Cell::kParameters; ++i) {
      parameter[i] = memory.cell[node * Cell::kParameters + i];
    }
    EVONET_UNROLL
    for (int k = 0; k < N; ++k) {
      T value = own.one(0, k), state[Cell::kStates + 1];
      EVONET_UNROLL
      for (int c = 0; c < Cell::kStates; ++c) state[c] = states.one(-c * num_nodes, k);
      Cell::settle(value, state, parameter, memory.time_step);
      own.one(0, k) = value;
      EVONET_UNROLL
      for (int c = 0; c < Cell::kStates; ++c) states.one(-c * num_nodes, k) = state[c];
    }
  });
}

// The states of a node between calls lie as [C][plane]; this thread has the samples b, b + 32, ...
// of the node's row.
template <class T, int N>
EVONET_FN void load_node(const Memory<T>& memory, const T* row, int64 plane, int b, int num_samples,
                         int32 num_nodes, Column<T, N> states) {
  EVONET_KEEP_LOOP
  for (int c = 0; c < memory.num_states; ++c) {
    EVONET_UNROLL
    for (int k = 0; k < N; ++k) {
      const bool inside = b + 32 * k < num_samples;
      states.one(-c * num_nodes, k) = inside ? row[c * plane + b + 32 * k] : T(0);
    }
  }
}

template <class T, int N>
EVONET_FN void store_node(const Memory<T>& memory, T* row, int64 plane, int b, int num_samples,
                          int32 num_nodes, Column<T, N> states) {
  EVONET_KEEP_LOOP
  for (int c = 0; c < memory.num_states; ++c) {
    EVONET_UNROLL
    for (int k = 0; k < N; ++k) {
      if (b + 32 * k < num_samples) {
        row[c * plane + b + 32 * k] = states.one(-c * num_nodes, k);
      }
    }
  }
}

EVONET_NAMESPACE_END
