// compile_schedule.h: packed genomes -> dependency-level schedules, in parallel over genomes.
#pragma once

#include <cstdint>

#include "native/buffer.h"
#include "native/thread_pool.h"
#include "schedule/wiring.h"

namespace evonet {

// A Population's arrays; evonet/genes/population.py explains each. Offsets and lengths are right,
// and every genome has a node for each output; genes that make no sense are reported.
template <class T>
struct PopulationView {
  int64_t num_genomes;
  int64_t num_inputs;
  int64_t num_outputs;
  const int64_t* node_start;
  const int64_t* node_key;
  const T* bias;
  const T* response;
  const uint8_t* activation;
  const uint8_t* aggregation;
  const int64_t* conn_start;
  const int64_t* source;
  const int64_t* target;
  const T* weight;
  const bool* enabled;
  const int32_t* rank;
};

template <class T>
struct CompiledSchedule {
  Buffer<int64_t> node_start, node_key, num_slots, edge_start, level_start;
  Buffer<T> bias, response, weight;
  Buffer<uint8_t> activation, aggregation;
  Buffer<int32_t> slot, source, level_end, output_slot;
  Buffer<int64_t> gene;        // [N] position of each live node in the population; not for kLevels
  int64_t cyclic_genome = -1;  // the first genome with a cycle its outputs need, or -1
  int64_t bad_genome = -1;     // the first genome whose keys, ends or ranks make no sense, or -1
};

// Returns false if poll asked to stop.
template <class T>
bool compile_schedule(const PopulationView<T>& population, const CompileOptions& options,
                      int threads, const Interrupt::Poll& poll, CompiledSchedule<T>& out);

}  // namespace evonet
