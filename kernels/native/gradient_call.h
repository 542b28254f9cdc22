// gradient_call.h: what reverse passes and learners read and write, as plain pointers for the
// translation units of all instruction sets.
#pragma once

#include <cstdint>

#include "native/schedule_view.h"
#include "native/thread_pool.h"

namespace evonet {

// A link's adjoint lies in a row: the row of its target where all links of that node share one,
// otherwise a row of its own behind those of the nodes.
struct LinkReader {
  int32_t edge, row;  // the link, counted within its genome, and its row
};

// A schedule's links, transposed: who reads each slot. A genome's readers lie in the order in which
// the way back needs them, those of its last slot first, so that those of slot s are
// [end[s + 1], end[s]).
struct LinkReaders {
  const int64_t* first_slot;   // [P + 1] where a genome's slots begin in end
  const int64_t* end;          // [slots + 1]
  const LinkReader* reader;    // [E]
  const int32_t* link_row;     // [E] row of each link, in the schedule's order
  const int64_t* num_rows;     // [P]
  const int32_t* output_node;  // [P, O] node of each output, counted within its genome, or -1
  const int32_t* output_of;    // [N] the first output that a node is, or -1
  const int32_t* next_output;  // [P, O] the next output of the same node, or -1
};

// Samples come as rows, one per input, of the samples of a block: x is [blocks, T, I, width], and
// targets are [blocks, T', O, width], where T' is T or 1.
template <class T>
struct GradientCall {
  ScheduleView<T> schedule;  // its genes are those to differentiate by
  LinkReaders readers;
  int loss;
  int64_t num_samples;                  // B
  int64_t num_steps, num_target_steps;  // T and T'
  int width;                            // of a block
  bool backward;                        // or only losses
  bool weights, biases, responses;      // which derivatives are wanted
  bool inputs;
  bool waits;  // whether nodes without links are never evaluated
};

constexpr int kGradientLanes = 32;  // kLossLanes

// A worker's memory. M counts steps within steps: T times the schedule's own.
template <class T>
struct GradientMemory {
  T* values;      // [M, slots, width]
  T* joined;      // [M, nodes, width]
  T* rows;        // [rows, width] adjoints of what links give
  T* deltas;      // [nodes, width] slopes of activations, then adjoints of what these get
  T* state;       // [nodes, width]
  T* remembered;  // [2, nodes, width] adjoints
  T* outputs;     // [O, width]
  T* slopes;      // [T', O, width]
  T* x_rows;      // [I, width]
  T* scratch;     // [4, width]
  T* links;       // [links of the largest node]
  T* lanes;       // [genes, 32]: weights, biases, responses, what cells keep
  T* totals;      // [genes]
  T losses[2];
  T* x_gradient;  // [T, B, I] of the genome, or null
};

// How genes change, in float64; optimizers.h explains it.
struct LearningRule {
  int optimizer;
  double rate, momentum, beta1, beta2, epsilon, decay, clip;
};

// Steps [0, S) of a learner; samples of step s are block group s: x is [S, blocks, T, I, width].
template <class T>
struct LearnCall {
  GradientCall<T> gradient;
  LearningRule rule;
  int64_t num_steps;
  const double* corrections;  // [S, 2]
  const T *x, *targets;
  T *weight, *bias, *response;  // genes; those of the schedule point here too
  T* first[3];                  // momentum or mean of gradients: of weights, biases, responses
  T* second[3];                 // mean of squares
  bool* active;                 // [P]
  int64_t* steps;               // [P]
  T* losses;                    // [S, P]
};

// Numbers of one sort that one optimiser changes: genes of a genome, weights of a front.
template <class T>
struct GeneGroup {
  T *gene, *first, *second, *gradient;
  int64_t count;
  bool decays;
};

template <class T>
struct GradientKernels {
  // The width of blocks for so many samples of genomes with so many slots.
  int (*width_for)(int64_t num_samples, int64_t max_slots, bool has_memory);
  // One genome on all blocks: fills totals and losses. False if it was interrupted.
  bool (*gradient)(const GradientCall<T>& call, int64_t genome, const T* x, const T* targets,
                   GradientMemory<T>& memory, Interrupt& interrupt);
  // All steps of one genome. False if it was interrupted.
  bool (*learn)(const LearnCall<T>& call, int64_t genome, GradientMemory<T>& memory,
                Interrupt& interrupt);
  // The sums of gradients over samples become a step; false if they are not finite, and nothing
  // changes.
  bool (*update)(const LearningRule& rule, const double* corrections, int64_t num_samples,
                 const GeneGroup<T>* groups, int num_groups);
  // Multiplies adjoints [count] by the slopes of an activation that made y of z; all three have a
  // vector of room behind them.
  void (*scale)(int activation, const T* z, const T* y, T* adjoint, int64_t count);
};

}  // namespace evonet
