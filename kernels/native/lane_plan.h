// lane_plan.h: at which step each network of a group computes each of its nodes. At a step every
// network computes one node, and all take as long as the one with the most links; so neighbours
// should have nodes of equal size. Networks are free to take any node whose sources are done: a
// step is as long as the longest of their shortest nodes, and every network takes the longest one
// that fits. Small nodes come first that way, and large ones later, but together.
#pragma once

#include <cstdint>
#include <vector>

#include "native/schedule_view.h"

namespace evonet {

struct LanePlan {
  std::vector<std::vector<int32_t>> step;  // [lanes][nodes] when a node is computed
  std::vector<int32_t> num_links;          // [steps] of any lane
};

// For networks without memory.
template <class T>
LanePlan plan_lanes(const ScheduleView<T>& s, const std::vector<int64_t>& genomes);

}  // namespace evonet
