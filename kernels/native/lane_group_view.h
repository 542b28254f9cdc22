// lane_group_view.h: a group of networks as kernels read it, without the containers that own it;
// see lane_groups.h.
#pragma once

#include <cstdint>

namespace evonet {

// Rows of values start at multiples of so many bytes.
constexpr int kRowUnit = 8;

template <class T>
struct LaneGroupView {
  int64_t num_steps, num_lanes, num_inputs, num_outputs;
  const int64_t* genome;
  const int32_t *num_links, *activation;
  const uint8_t* each;
  const T *genes, *weight;
  const uint16_t* source;
  const int32_t* output;
};

// Runs a group on one sample: x [I], or [P, I] if it is not shared -> y [P, O]. values has as many
// numbers for every row as there are networks in a group.
template <class T>
using RunLaneGroup = void (*)(const LaneGroupView<T>& group, const T* x, bool shared, T* values,
                              T* y);

}  // namespace evonet
