#include "native/lane_plan.h"

#include <algorithm>

namespace evonet {
namespace {

// A network on its way through its nodes.
class PlannedLane {
 public:
  template <class T>
  PlannedLane(const ScheduleView<T>& s, int64_t genome)
      : step(s.num_nodes(genome)), waits_(step.size()), reader_start_(step.size() + 1) {
    const int64_t first = s.node_start[genome], count = s.num_nodes(genome);
    const int64_t edge = s.edge_start[first];
    std::vector<int32_t> writer(s.num_slots[genome], -1);  // of each slot, so far
    std::vector<int32_t> read(s.edge_start[first + count] - edge);
    num_links_.reserve(count);
    for (int64_t k = 0; k < count; ++k) {
      for (int64_t e = s.edge_start[first + k]; e < s.edge_start[first + k + 1]; ++e) {
        const int32_t node = read[e - edge] = writer[s.source[e]];
        waits_[k] += node >= 0;
        if (node >= 0) ++reader_start_[node + 1];
      }
      writer[s.slot[first + k]] = static_cast<int32_t>(k);
      num_links_.push_back(
          static_cast<int32_t>(s.edge_start[first + k + 1] - s.edge_start[first + k]));
    }
    for (int64_t k = 0; k < count; ++k) reader_start_[k + 1] += reader_start_[k];
    reader_.resize(reader_start_[count]);
    std::vector<int32_t> next(reader_start_.begin(), reader_start_.end());
    for (int64_t k = 0; k < count; ++k) {
      for (int64_t e = s.edge_start[first + k]; e < s.edge_start[first + k + 1]; ++e) {
        if (read[e - edge] >= 0) reader_[next[read[e - edge]]++] = static_cast<int32_t>(k);
      }
      if (waits_[k] == 0) ready_.push_back({num_links_[k], static_cast<int32_t>(k)});
    }
    std::sort(ready_.begin(), ready_.end());
  }

  bool is_done() const { return ready_.empty(); }

  int32_t fewest_links() const { return ready_.front().num_links; }

  // Takes the largest node that is ready and has at most so many links; there must be one.
  void take(int32_t most_links, int32_t now) {
    const auto above = std::upper_bound(ready_.begin(), ready_.end(), Ready{most_links, -1});
    const int32_t node = (above - 1)->node;
    ready_.erase(above - 1);
    step[node] = now;
    for (int32_t i = reader_start_[node]; i < reader_start_[node + 1]; ++i) {
      if (--waits_[reader_[i]] > 0) continue;
      const Ready ready{num_links_[reader_[i]], reader_[i]};
      ready_.insert(std::upper_bound(ready_.begin(), ready_.end(), ready), ready);
    }
  }

  std::vector<int32_t> step;

 private:
  struct Ready {
    int32_t num_links, node;

    // The largest node is taken, and of equal ones that of the lowest level.
    bool operator<(const Ready& other) const {
      return num_links != other.num_links ? num_links < other.num_links : node > other.node;
    }
  };

  std::vector<Ready> ready_;  // sorted
  std::vector<int32_t> num_links_, waits_, reader_start_, reader_;
};

}  // namespace

template <class T>
LanePlan plan_lanes(const ScheduleView<T>& s, const std::vector<int64_t>& genomes) {
  std::vector<PlannedLane> lanes;
  for (int64_t genome : genomes) lanes.emplace_back(s, genome);
  LanePlan plan;
  for (;;) {
    int32_t most = -1;
    for (const PlannedLane& lane : lanes) {
      if (!lane.is_done()) most = std::max(most, lane.fewest_links());
    }
    if (most < 0) break;
    for (PlannedLane& lane : lanes) {
      if (!lane.is_done()) lane.take(most, static_cast<int32_t>(plan.num_links.size()));
    }
    plan.num_links.push_back(most);
  }
  for (PlannedLane& lane : lanes) plan.step.push_back(std::move(lane.step));
  return plan;
}

template LanePlan plan_lanes(const ScheduleView<float>&, const std::vector<int64_t>&);
template LanePlan plan_lanes(const ScheduleView<double>&, const std::vector<int64_t>&);

}  // namespace evonet
