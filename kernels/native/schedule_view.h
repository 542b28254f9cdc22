// schedule_view.h: a Schedule's arrays as plain pointers; evonet/schedule/schedule.py explains
// each.
#pragma once

#include <cstdint>

namespace evonet {

template <class T>
struct ScheduleView {
  int64_t num_genomes;
  int64_t num_inputs;
  int64_t num_outputs;
  const int64_t* node_start;   // [P + 1]
  const T* bias;               // [N]
  const T* response;           // [N]
  const uint8_t* activation;   // [N]
  const uint8_t* aggregation;  // [N]
  const int32_t* slot;         // [N] where the node's value is kept
  const int64_t* num_slots;    // [P] values that a genome holds
  const int64_t* edge_start;   // [N + 1]
  const int32_t* source;       // [E] slot that the link reads
  const T* weight;             // [E]
  const int64_t* level_start;  // [P + 1]
  const int32_t* level_end;    // [L] local node index one past the level
  const int32_t* output_slot;  // [P, O] or -1 for an output that is never evaluated
  // Only networks with memory need the rest; cells.h explains it.
  int kind = 0;
  int num_states = 0, num_parameters = 0;  // of a node
  int64_t steps = 1;
  T time_step = T(0);
  const T* cell = nullptr;  // [N, num_parameters]

  int64_t num_nodes(int64_t genome) const { return node_start[genome + 1] - node_start[genome]; }
  // The last slots hold states: c of the genome's k-th node is in first_state(genome) + c n + k,
  // where n is the number of its nodes.
  int64_t first_state(int64_t genome) const {
    return num_slots[genome] - num_states * num_nodes(genome);
  }

  // Genomes [begin, end) alone.
  ScheduleView part(int64_t begin, int64_t end) const {
    ScheduleView view = *this;
    view.num_genomes = end - begin;
    view.node_start += begin;
    view.num_slots += begin;
    view.level_start += begin;
    view.output_slot += begin * num_outputs;
    return view;
  }
};

}  // namespace evonet
