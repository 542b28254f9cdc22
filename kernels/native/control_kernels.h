// control_kernels.h: control tasks on lanes, on whole vectors of them whatever genomes they hold.
#pragma once

#include "control/tasks.h"
#include "native/rollout.h"
#include "native/simd.h"

EVONET_NAMESPACE_BEGIN

template <class Task, class T>
void reset_lane(Lanes<T>& lanes, int lane, uint64_t seed, uint32_t episode) {
  T state[Task::kStateSize];
  Task::reset(Draws{seed, 0, episode}(FOR_EPISODE, 0), state);
  for (int i = 0; i < Task::kStateSize; ++i) lanes.state[i][lane] = state[i];
}

// The rows of inputs from some lane on, as observe writes them.
template <class V, class T>
struct InputRows {
  struct Row {
    T* at;
    EVONET_METHOD void operator=(V v) { store(at, v); }
  };
  T (*rows)[kLaneRow];
  int lane;
  EVONET_METHOD Row operator[](int i) const { return {rows[i] + lane}; }
};

template <class Task, class T>
void observe_lanes(Lanes<T>& lanes) {
  using V = Vector<T, kMostLanes>;
  for (int lane = 0; lane < lanes.count; lane += kLanes<T, kMostLanes>) {
    V state[Task::kStateSize];
    for (int i = 0; i < Task::kStateSize; ++i) state[i] = load<V>(lanes.state[i] + lane);
    Task::observe(state, InputRows<V, T>{lanes.input, lane});
  }
}

template <class Task, class T>
void step_lanes(Lanes<T>& lanes) {
  using V = Vector<T, kMostLanes>;
  for (int lane = 0; lane < lanes.count; lane += kLanes<T, kMostLanes>) {
    V state[Task::kStateSize], output[Task::kNumOutputs];
    for (int i = 0; i < Task::kStateSize; ++i) state[i] = load<V>(lanes.state[i] + lane);
    for (int i = 0; i < Task::kNumOutputs; ++i) output[i] = load<V>(lanes.output[i] + lane);
    const Outcome<V> outcome = Task::step(state, output);
    for (int i = 0; i < Task::kStateSize; ++i) store(lanes.state[i] + lane, state[i]);
    store(lanes.total + lane, load<V>(lanes.total + lane) + outcome.reward);
    store(lanes.ended + lane, outcome.ended);
  }
}

template <class T>
constexpr ControlKernels<T> kControls[] = {
#define EVONET_CONTROL(name, Task, state_size, num_inputs, num_outputs, max_steps, ...) \
  {#name,                                                                               \
   state_size,                                                                          \
   num_inputs,                                                                          \
   num_outputs,                                                                         \
   max_steps,                                                                           \
   &reset_lane<Task, T>,                                                                \
   &observe_lanes<Task, T>,                                                             \
   &step_lanes<Task, T>},
#include "control/controls.def"
};

EVONET_NAMESPACE_END
