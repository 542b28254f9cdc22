// isa.h: what each instruction set's translation units offer to the rest.
#pragma once

#include <cstdint>

#include "native/evolution.h"
#include "native/gradient_call.h"
#include "native/images/layer.h"
#include "native/lane_group_view.h"
#include "native/node_blocks_view.h"
#include "native/program.h"
#include "native/rollout.h"
#include "native/schedule_view.h"
#include "native/thread_pool.h"
#include "native/wide.h"

namespace evonet {

// A call of the forward pass: samples in, outputs out.
template <class T>
struct ForwardCall {
  ScheduleView<T> schedule;
  const T* x;  // [B, I] shared by all genomes, or [P, B, I]
  bool shared;
  int64_t num_samples;  // B
  T* y;                 // [P, B, O]
  // For networks with memory, [C, N, B] each: what nodes remember, or null for a first state, and
  // what they remember afterwards, or null if that is not wanted.
  const T* state = nullptr;
  T* next_state = nullptr;
};

// A worker's own memory, reused from genome to genome. Translation units for an instruction set
// only see pointers: a container instantiated there could be merged into code for older processors.
template <class T>
struct Workspace {
  T* values;                  // [slots, width], 64-byte aligned, with 64 spare bytes behind
  T* links;                   // one value per link of the largest node
  int64_t loaded_block = -1;  // first sample of the shared inputs that the input slots hold
};

struct SampleBlock {
  int64_t begin;
  int width;  // 1, or 1, 2, 4 or 8 vectors; samples beyond the last are padding
};

template <class T>
struct ForwardKernels {
  int vector_width, max_width;  // of a sample block
  // Evaluates genomes [begin, end) on one block of samples.
  void (*forward)(const ForwardCall<T>& call, int64_t begin, int64_t end, SampleBlock block,
                  Workspace<T>& workspace, Interrupt& interrupt);
  // In place; the memory behind v must be readable and writable up to a multiple of 64 bytes.
  void (*activate)(int id, T* v, int64_t count);
  // Joins rows of a vector: values [slots, vector_width] by source [num_links] -> out
  // [vector_width]. scratch holds num_links values.
  void (*aggregate)(int id, const T* weights, const T* values, const int32_t* source,
                    int64_t num_links, T* scratch, T* out);
  // A custom activation on up to 512 bytes of numbers, in place; the memory behind them must be
  // readable up to a multiple of 64 bytes.
  void (*activate_by)(const Program<T>& program, T* numbers, int count);
  // A custom aggregation: values [slots, width] by source [count] -> out [width], for the width of
  // a sample block.
  void (*aggregate_by)(const Program<T>& program, const T* values, const int32_t* source,
                       const T* weight, int64_t count, int width, T* out);
  // The derivative of a custom aggregation by the product of each link -> out [count, width].
  void (*terms_by)(const Program<T>& program, const T* values, const int32_t* source,
                   const T* weight, int64_t count, int width, T* out);
  int group_lanes;  // networks in a group
  // By loads, and by the processor's gather instruction, where it has one: equal bits.
  RunLaneGroup<T> run_group[2];
  // The loss of one genome's answers y [B, O]: a sum and its rest.
  void (*loss)(int loss, const T* y, const T* targets, int64_t num_samples, int64_t num_outputs,
               T* out);
  int tile_width;  // samples of a tile; see block_rows.h for both functions
  bool (*run_segment)(const ScheduleView<T>& schedule, const NodeBlocksView<T>& blocks,
                      int64_t segment, T* values, T* scratch, Interrupt& interrupt);
  void (*find_bits)(const T* values, const int32_t* slot, int64_t count, bool* is_set);
};

template <class T>
struct IsaKernels {
  const ForwardKernels<T>& forward;
  const EvolutionKernels<T>& evolution;
  const RolloutKernels<T>& rollout;
  const ControlList<T>& control;
  const ImageKernels<T>& images;
  const GradientKernels<T>& gradient;
};

struct Isa {
  const char* name;
  IsaKernels<float> float32;
  IsaKernels<double> float64;
  const WideKernels& wide;
  // Does float multiply-adds in registers; returns how many.
  int64_t (*spin_fma)(int64_t turns, float* sink);
  // Reads numbers, a multiple of 512, again and again; returns how many bytes.
  int64_t (*read_rows)(const int32_t* data, int64_t count, int64_t turns, int32_t* sink);

  const IsaKernels<float>& kernels(float) const { return float32; }
  const IsaKernels<double>& kernels(double) const { return float64; }
};

}  // namespace evonet
