// lane_groups.h: networks side by side in the lanes of vectors, for a single sample, with which one
// network could fill no vector. A group holds W networks step by step (see lane_plan.h) and link by
// link; a node with fewer links than its neighbours is filled up with links that add nothing. Row 0
// of the values is always 0, then come the inputs, then what every lane computes at each step.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "native/lane_group_view.h"
#include "native/lane_plan.h"
#include "native/schedule_view.h"
#include "native/thread_pool.h"

namespace evonet {

template <class T>
struct LaneGroup {
  static constexpr int kDiffer = -1;

  std::vector<int64_t> genome;      // [lanes in use]
  LanePlan plan;                    // until it is packed, only num_links [steps] afterwards
  std::vector<int32_t> activation;  // [steps], or kDiffer
  std::vector<uint8_t> each;        // [steps, W] activation of each lane
  std::vector<T> genes;             // [steps, 2, W] bias and response
  std::vector<T> weight;            // [rows, W]
  std::vector<uint16_t> source;     // [rows, W] start of a row of values, in units of kRowUnit
  std::vector<int32_t> output;      // [O, W] position in values
};

// All networks of a schedule in groups of `width`, those of about equal size together.
template <class T>
class LaneGroups {
 public:
  // Null unless they are networks without memory that sum, few of whose links would be filled up,
  // and whose values stay in the second-level cache.
  static std::unique_ptr<const LaneGroups> make(const ScheduleView<T>& s, int width, int threads);

  int64_t count() const { return static_cast<int64_t>(groups_.size()); }
  LaneGroupView<T> operator[](int64_t group) const;
  int64_t num_genomes() const { return num_genomes_; }
  int64_t num_inputs() const { return num_inputs_; }
  int64_t num_outputs() const { return num_outputs_; }
  int width() const { return width_; }
  // Rows of values that any group needs.
  int64_t max_rows() const { return max_rows_; }
  int64_t num_links() const { return num_links_; }

 private:
  LaneGroups(const ScheduleView<T>& s, int width);

  void pack(const ScheduleView<T>& s, int width, LaneGroup<T>& group) const;

  int width_;
  int64_t num_genomes_, num_inputs_, num_outputs_;
  int64_t max_rows_ = 0, num_links_ = 0;
  std::vector<LaneGroup<T>> groups_;
};

// The faster of two kernels that give equal bits, found by running the first group. The gather
// instruction takes 3/4 of the loads' time on Sapphire Rapids and 4/3 on Zen 4; where a fault of
// the processor was mended in its microcode, more.
template <class T>
RunLaneGroup<T> fastest(const RunLaneGroup<T> (&kernels)[2], const LaneGroups<T>& groups);

}  // namespace evonet
