#include "native/lane_groups.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "native/worker_memory.h"
#include "nodes/function_ids.h"

namespace evonet {
namespace {

// Links that are computed, filled ones included, for each link that there is: beyond it, networks
// one by one are as fast.
constexpr int64_t kMostFilling = 3;
constexpr int64_t kCacheBytes = 512 * 1024;
constexpr int kTrialTurns = 4;

template <class T>
int64_t links_of(const ScheduleView<T>& s, int64_t g) {
  return s.edge_start[s.node_start[g + 1]] - s.edge_start[s.node_start[g]];
}

// Neighbours should be of equal size.
template <class T>
std::vector<int64_t> order_by_size(const ScheduleView<T>& s) {
  std::vector<int64_t> order(s.num_genomes);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return links_of(s, a) > links_of(s, b); });
  return order;
}

template <class T>
bool all_sum(const ScheduleView<T>& s) {
  const uint8_t* const end = s.aggregation + s.node_start[s.num_genomes];
  return std::all_of(s.aggregation + s.node_start[0], end, [](int id) { return id == AGG_SUM; });
}

}  // namespace

template <class T>
std::unique_ptr<const LaneGroups<T>> LaneGroups<T>::make(const ScheduleView<T>& s, int width,
                                                         int threads) {
  if (s.num_states > 0 || s.num_genomes < width || !all_sum(s)) return nullptr;
  std::unique_ptr<LaneGroups> groups(new LaneGroups(s, width));
  const auto in_parallel = [&](auto work) {
    parallel_for(
        threads, groups->count(), [&](int, int64_t i, Interrupt&) { work(groups->groups_[i]); },
        [] { return false; });
  };
  in_parallel([&](LaneGroup<T>& group) { group.plan = plan_lanes(s, group.genome); });
  for (const LaneGroup<T>& group : groups->groups_) {
    const std::vector<int32_t>& links = group.plan.num_links;
    groups->max_rows_ =
        std::max(groups->max_rows_, 1 + s.num_inputs + static_cast<int64_t>(links.size()));
    groups->num_links_ += width * std::accumulate(links.begin(), links.end(), int64_t{0});
  }
  const int64_t links = s.edge_start[s.node_start[s.num_genomes]] - s.edge_start[s.node_start[0]];
  if (groups->num_links_ > kMostFilling * links ||
      groups->max_rows_ * width * int64_t{sizeof(T)} > kCacheBytes) {
    return nullptr;
  }
  in_parallel([&](LaneGroup<T>& group) { groups->pack(s, width, group); });
  return groups;
}

template <class T>
LaneGroups<T>::LaneGroups(const ScheduleView<T>& s, int width)
    : width_(width),
      num_genomes_(s.num_genomes),
      num_inputs_(s.num_inputs),
      num_outputs_(s.num_outputs),
      groups_((s.num_genomes + width - 1) / width) {
  const std::vector<int64_t> order = order_by_size(s);
  for (int64_t i = 0; i < count(); ++i) {
    const int64_t end = std::min((i + 1) * width, s.num_genomes);
    groups_[i].genome.assign(order.begin() + i * width, order.begin() + end);
  }
}

template <class T>
void LaneGroups<T>::pack(const ScheduleView<T>& s, int width, LaneGroup<T>& group) const {
  const auto steps = static_cast<int64_t>(group.plan.num_links.size());
  std::vector<int64_t> first_row(steps + 1);
  std::partial_sum(group.plan.num_links.begin(), group.plan.num_links.end(), first_row.begin() + 1);
  group.activation.assign(steps, 0);
  group.each.assign(steps * width, 0);
  group.genes.assign(steps * 2 * width, T(0));
  // -0 times the row of zeros is -0, and adding that changes no number, not even -0.
  group.weight.assign(first_row.back() * width, -T(0));
  group.source.assign(first_row.back() * width, 0);
  group.output.assign(num_outputs_ * width, 0);
  const auto units = [&](int64_t row) {
    return static_cast<uint16_t>(row * width * int64_t{sizeof(T)} / kRowUnit);
  };
  std::vector<int64_t> slot_row;
  std::vector<bool> seen(steps);
  for (size_t lane = 0; lane < group.genome.size(); ++lane) {
    const int64_t genome = group.genome[lane], first = s.node_start[genome];
    slot_row.assign(std::max(s.num_slots[genome], num_inputs_), 0);
    for (int64_t i = 0; i < num_inputs_; ++i) slot_row[i] = 1 + i;
    for (int64_t k = 0; k < s.num_nodes(genome); ++k) {
      const int64_t node = first + k, edge = s.edge_start[node], step = group.plan.step[lane][k];
      for (int64_t j = 0; j < s.edge_start[node + 1] - edge; ++j) {
        const int64_t at = (first_row[step] + j) * width + lane;
        group.weight[at] = s.weight[edge + j];
        group.source[at] = units(slot_row[s.source[edge + j]]);
      }
      slot_row[s.slot[node]] = 1 + num_inputs_ + step;
      group.genes[2 * step * width + lane] = s.bias[node];
      group.genes[(2 * step + 1) * width + lane] = s.response[node];
      group.each[step * width + lane] = s.activation[node];
      if (!seen[step]) {
        group.activation[step] = s.activation[node];
      } else if (group.activation[step] != s.activation[node]) {
        group.activation[step] = LaneGroup<T>::kDiffer;
      }
      seen[step] = true;
    }
    for (int64_t o = 0; o < num_outputs_; ++o) {
      const int32_t slot = s.output_slot[genome * num_outputs_ + o];
      group.output[o * width + lane] =
          slot < 0 ? 0 : static_cast<int32_t>(slot_row[slot] * width + lane);
    }
  }
  group.plan.step.clear();
}

template <class T>
LaneGroupView<T> LaneGroups<T>::operator[](int64_t i) const {
  const LaneGroup<T>& group = groups_[i];
  return {static_cast<int64_t>(group.activation.size()),
          static_cast<int64_t>(group.genome.size()),
          num_inputs_,
          num_outputs_,
          group.genome.data(),
          group.plan.num_links.data(),
          group.activation.data(),
          group.each.data(),
          group.genes.data(),
          group.weight.data(),
          group.source.data(),
          group.output.data()};
}

template <class T>
RunLaneGroup<T> fastest(const RunLaneGroup<T> (&kernels)[2], const LaneGroups<T>& groups) {
  using Clock = std::chrono::steady_clock;
  const LaneGroupView<T> group = groups[0];
  const std::vector<T> x(groups.num_inputs());
  std::vector<T> y(groups.num_genomes() * groups.num_outputs());
  AlignedArray<T> values(groups.max_rows() * groups.width());
  Clock::duration least[] = {Clock::duration::max(), Clock::duration::max()};
  for (int turn = 0; turn < kTrialTurns; ++turn) {
    for (int k = 0; k < 2; ++k) {
      const Clock::time_point start = Clock::now();
      kernels[k](group, x.data(), true, values.data(), y.data());
      least[k] = std::min(least[k], Clock::now() - start);
    }
  }
  return kernels[least[1] < least[0]];
}

template class LaneGroups<float>;
template class LaneGroups<double>;
template RunLaneGroup<float> fastest(const RunLaneGroup<float> (&)[2], const LaneGroups<float>&);
template RunLaneGroup<double> fastest(const RunLaneGroup<double> (&)[2], const LaneGroups<double>&);

}  // namespace evonet
