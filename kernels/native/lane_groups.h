// lane_groups.h: networks side by side in the lanes of vectors, for a single sample, with which one
// network could fill no vector. A group holds W networks node by node and link by link; a node with
// fewer links than its neighbours is filled up with links that add nothing. Row 0 of the values is
// always 0, then come the inputs, then the k-th node of every lane.
#pragma once

#include <cstdint>
#include <vector>

#include "native/lane_group_view.h"
#include "native/schedule_view.h"
#include "native/thread_pool.h"

namespace evonet {

template <class T>
struct LaneGroup {
  static constexpr int kDiffer = -1;

  int64_t num_nodes = 0;            // of the largest network
  std::vector<int64_t> genome;      // [lanes in use]
  std::vector<int32_t> num_links;   // [nodes] of any lane
  std::vector<int32_t> activation;  // [nodes], or kDiffer
  std::vector<uint8_t> each;        // [nodes, W] activation of each lane
  std::vector<T> genes;             // [nodes, 2, W] bias and response
  std::vector<T> weight;            // [rows, W]
  std::vector<int32_t> source;      // [rows, W] position in values
  std::vector<int32_t> output;      // [O, W] position in values
};

// All networks of a schedule in groups of `width`, those of about equal size together.
template <class T>
class LaneGroups {
 public:
  // Whether the schedule can be packed: networks without memory that sum, few of whose links
  // would be filled up, and whose values stay in the second-level cache.
  static bool fit(const ScheduleView<T>& s, int width);

  LaneGroups(const ScheduleView<T>& s, int width, int threads);

  int64_t count() const { return static_cast<int64_t>(groups_.size()); }
  LaneGroupView<T> operator[](int64_t group) const;
  // Rows of values that any group needs.
  int64_t max_rows() const { return max_rows_; }
  int64_t num_links() const { return num_links_; }

 private:
  void pack(const ScheduleView<T>& s, int width, LaneGroup<T>& group) const;

  int64_t num_inputs_, num_outputs_;
  int64_t max_rows_ = 0, num_links_ = 0;
  std::vector<LaneGroup<T>> groups_;
};

}  // namespace evonet
