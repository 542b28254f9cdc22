// grid_states.cu: what nodes of large networks remember; a thread per (node, column).
//
// PHASE 0 gives every node its first state, or loads the one of the call before; PHASE 1 settles
// the cells at the end of a step; PHASE 2 stores states for the next call. Steps of all nodes of a
// level come before and after, in launches of their own.
//
// REAL: float or double. phase: one of these. A column is a sample, counted from first_sample.
#include "cuda/cells.h"
#include "cuda/grid.h"

using namespace evonet;

constexpr int kThreads = 256;

extern "C" __global__ void __launch_bounds__(kThreads)
    grid_states(int phase, int row, long long genome_values, int num_samples, int first_sample,
                const int* __restrict__ num_columns, const int* __restrict__ genome_of,
                const long long* __restrict__ node_start, const int* __restrict__ slot,
                REAL* values, int kind, int num_states, REAL time_step,
                const REAL* __restrict__ cell, const long long* __restrict__ num_slots,
                long long plane, const REAL* __restrict__ state, REAL* __restrict__ next_state) {
  const int groups = (row - 1) / kThreads + 1;
  const int node = blockIdx.x / groups;  // of all genomes
  const int column = (blockIdx.x - node * groups) * kThreads + threadIdx.x;
  const int genome = genome_of[node];
  if (column >= num_columns[genome]) return;

  const Memory<REAL> memory{kind, num_states, time_step, cell};
  const long long first_node = node_start[genome];
  const int num_nodes = int(node_start[genome + 1] - first_node);
  const int first_state = int(num_slots[genome]) - num_states * num_nodes;
  const Column<REAL, 1> first_slot{
      reinterpret_cast<char*>(values + genome * genome_values + column), -row * int(sizeof(REAL))};
  const Column<REAL, 1> states = first_slot.seen_from(first_state + int(node - first_node));
  const long long kept = (long long)node * num_samples;
  const int b = first_sample + column;
  if (phase == 1) {
    settle_node(memory, node, num_nodes, first_slot.seen_from(slot[node]), states);
  } else if (phase == 2) {
    store_node(memory, next_state + kept, plane, b, num_samples, num_nodes, states);
  } else if (state == nullptr) {
    begin_node(memory, node, num_nodes, states);
  } else {
    load_node(memory, state + kept, plane, b, num_samples, num_nodes, states);
  }
}
