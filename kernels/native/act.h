// act.h: a network acts once in each of its lanes of a rollout.
#pragma once

#include "native/forward.h"
#include "native/rollout.h"

EVONET_NAMESPACE_BEGIN

// One network on `count` lanes from `lane` on. Lanes behind its own are computed too, in vain:
// their own networks come later and overwrite them. Only what it remembers must stay off them.
template <class T>
void act(const ScheduleView<T>& s, Lanes<T>& lanes, int64_t genome, int lane, int count,
         Workspace<T>& workspace, Interrupt& interrupt) {
  const ForwardCall<T> forward{s, nullptr, true, 0, nullptr};
  GenomePass<T> pass(forward, {0, count}, workspace, interrupt);
  const int width = pass.width();
  for (int64_t i = 0; i < s.num_inputs; ++i) {
    copy_row(workspace.values + i * width, lanes.input[i] + lane, width);
  }
  if (s.num_states == 0) {
    pass.run(genome);
  } else {
    const int64_t nodes = s.num_nodes(genome);
    T* row = pass.first_state_row(genome);
    for (int c = 0; c < s.num_states; ++c) {
      const T* from = lanes.remembered(c, 0) + lane;
      for (int64_t k = 0; k < nodes; ++k, row += width, from += kLaneRow) {
        copy_row(row, from, width);
      }
    }
    for (int64_t step = 0; step < s.steps; ++step) {
      pass.run(genome);
      pass.settle(genome);
    }
    row = pass.first_state_row(genome);
    for (int c = 0; c < s.num_states; ++c) {
      T* to = lanes.remembered(c, 0) + lane;
      for (int64_t k = 0; k < nodes; ++k, row += width, to += kLaneRow) {
        for (int b = 0; b < count; ++b) to[b] = row[b];
      }
    }
  }
  for (int64_t o = 0; o < s.num_outputs; ++o) {
    const int32_t slot = s.output_slot[genome * s.num_outputs + o];
    T* const output = lanes.output[o] + lane;
    if (slot < 0) {
      for (int b = 0; b < width; ++b) output[b] = T(0);
    } else {
      copy_row(output, workspace.values + int64_t{slot} * width, width);
    }
  }
}

EVONET_NAMESPACE_END
