// rollout.h: whole episodes of networks that act in a control task. The loop works on lanes: each
// holds an episode of a genome, and an episode that ends makes room for the next one at once.
#pragma once

#include <atomic>
#include <cstdint>

#include "native/ensemble.h"
#include "native/schedule_view.h"
#include "native/thread_pool.h"

namespace evonet {

template <class T>
struct Workspace;

// Episodes that run side by side on one thread: a few vectors, whose latencies overlap.
constexpr int kMostLanes = 64;
// A row of lanes; networks may read and write up to a vector behind the last lane.
constexpr int kLaneRow = 2 * kMostLanes;
constexpr int kMostStates = 9, kMostInputs = 128, kMostOutputs = 3;

template <class T>
struct FlagOf {
  using type = int32_t;
};
template <>
struct FlagOf<double> {
  using type = int64_t;
};

// Lanes [0, count) are at work; those of one genome lie side by side.
template <class T>
struct alignas(64) Lanes {
  T state[kMostStates][kLaneRow];
  T input[kMostInputs][kLaneRow];
  T output[kMostOutputs][kLaneRow];
  T total[kLaneRow];                         // rewards so far
  typename FlagOf<T>::type ended[kLaneRow];  // not 0 if the last step was the last
  int32_t steps[kLaneRow];
  int64_t genome[kLaneRow];
  int64_t result[kLaneRow];  // where total and steps go, or -1 for a lane without an episode
  int count = 0;
  // What networks remember, [C, max_nodes][kLaneRow].
  T* memory = nullptr;
  int64_t max_nodes = 0;

  T* remembered(int64_t plane, int64_t node) const {
    return memory + (plane * max_nodes + node) * kLaneRow;
  }
};

// A control task on lanes.
template <class T>
struct ControlKernels {
  const char* name;
  int state_size, num_inputs, num_outputs, max_steps;
  // Puts the first state of an episode into a lane.
  void (*reset)(Lanes<T>& lanes, int lane, uint64_t seed, uint32_t episode);
  void (*observe)(Lanes<T>& lanes);
  // Lets the outputs act, adds the reward to total and sets ended.
  void (*step)(Lanes<T>& lanes);
};

template <class T>
struct RolloutCall {
  ScheduleView<T> schedule;
  const ControlKernels<T>* control;
  uint64_t seed;
  uint32_t first_episode;
  int32_t max_steps;
  int max_width;   // of a block of lanes
  T* total;        // [K, E]
  int32_t* steps;  // [K, E]
};

// Consecutive episodes of one genome.
struct RolloutItem {
  int64_t genome = 0;
  int64_t episode = 0, end = 0;
  int64_t result = 0;  // position of `episode` in the results
};

// Gives out all episodes of all genomes, to any number of threads.
class RolloutQueue {
 public:
  // order [K] says who comes first.
  RolloutQueue(const int64_t* genomes, const int64_t* order, int64_t num_genomes,
               int64_t num_episodes);

  int64_t num_items() const { return num_genomes_ * blocks_; }
  // False if nothing is left.
  bool take(RolloutItem& item);

 private:
  const int64_t* genomes_;
  const int64_t* order_;
  int64_t num_genomes_, num_episodes_, blocks_;
  std::atomic<int64_t> next_{0};
};

template <class T>
struct ControlList {
  const ControlKernels<T>* controls;
  int count;
};

template <class T>
struct RolloutKernels {
  int group_lanes;  // of an Ensemble
  // Works until the queue is empty or somebody interrupts. With an ensemble, networks run side by
  // side; without, the episodes of one network do.
  void (*run)(const RolloutCall<T>& call, RolloutQueue& queue, Lanes<T>& lanes,
              const Ensemble<T>* ensemble, Workspace<T>& workspace, Interrupt& interrupt);
};

// Returns false if poll asked to stop. genomes [K] says which ones act.
template <class T>
bool rollout(const RolloutKernels<T>& kernels, const RolloutCall<T>& call, const int64_t* genomes,
             int64_t num_genomes, int64_t num_episodes, int threads, const Interrupt::Poll& poll);

}  // namespace evonet
