#include "native/lane_groups.h"

#include <algorithm>
#include <numeric>

#include "nodes/function_ids.h"

namespace evonet {
namespace {

// Links that are computed, filled ones included, for each link that there is: beyond it, networks
// one by one are as fast.
constexpr int64_t kMostFilling = 3;
constexpr int64_t kCacheBytes = 512 * 1024;

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

// The most links of any k-th node.
template <class T>
std::vector<int32_t> most_links(const ScheduleView<T>& s, const int64_t* begin,
                                const int64_t* end) {
  std::vector<int32_t> most;
  for (const int64_t* genome = begin; genome < end; ++genome) {
    const int64_t first = s.node_start[*genome], count = s.num_nodes(*genome);
    if (count > static_cast<int64_t>(most.size())) most.resize(count);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t links = s.edge_start[first + k + 1] - s.edge_start[first + k];
      most[k] = std::max(most[k], static_cast<int32_t>(links));
    }
  }
  return most;
}

}  // namespace

template <class T>
bool LaneGroups<T>::fit(const ScheduleView<T>& s, int width) {
  if (s.num_states > 0 || s.num_genomes < width) return false;
  const int64_t nodes = s.node_start[s.num_genomes];
  for (int64_t k = s.node_start[0]; k < nodes; ++k) {
    if (s.aggregation[k] != AGG_SUM) return false;
  }
  int64_t links = 0, filled = 0, most_nodes = 0;
  const std::vector<int64_t> order = order_by_size(s);
  for (int64_t begin = 0; begin < s.num_genomes; begin += width) {
    const int64_t end = std::min(begin + width, s.num_genomes);
    const std::vector<int32_t> most = most_links(s, &order[begin], &order[0] + end);
    most_nodes = std::max(most_nodes, static_cast<int64_t>(most.size()));
    filled += width * std::accumulate(most.begin(), most.end(), int64_t{0});
    for (int64_t i = begin; i < end; ++i) links += links_of(s, order[i]);
  }
  const int64_t values = (1 + s.num_inputs + most_nodes) * width;
  return filled <= kMostFilling * links && values * int64_t{sizeof(T)} <= kCacheBytes;
}

template <class T>
LaneGroups<T>::LaneGroups(const ScheduleView<T>& s, int width, int threads)
    : num_inputs_(s.num_inputs),
      num_outputs_(s.num_outputs),
      groups_((s.num_genomes + width - 1) / width) {
  const std::vector<int64_t> order = order_by_size(s);
  for (int64_t i = 0; i < count(); ++i) {
    const int64_t end = std::min((i + 1) * width, s.num_genomes);
    groups_[i].genome.assign(order.begin() + i * width, order.begin() + end);
  }
  parallel_for(
      threads, count(), [&](int, int64_t i, Interrupt&) { pack(s, width, groups_[i]); },
      [] { return false; });
  for (const LaneGroup<T>& group : groups_) {
    max_rows_ = std::max(max_rows_, 1 + num_inputs_ + group.num_nodes);
    num_links_ += static_cast<int64_t>(group.weight.size());
  }
}

template <class T>
void LaneGroups<T>::pack(const ScheduleView<T>& s, int width, LaneGroup<T>& group) const {
  group.num_links = most_links(s, group.genome.data(), group.genome.data() + group.genome.size());
  group.num_nodes = static_cast<int64_t>(group.num_links.size());
  std::vector<int64_t> first_row(group.num_nodes + 1);
  std::partial_sum(group.num_links.begin(), group.num_links.end(), first_row.begin() + 1);
  group.activation.assign(group.num_nodes, 0);
  group.each.assign(group.num_nodes * width, 0);
  group.genes.assign(group.num_nodes * 2 * width, T(0));
  // -0 times the row of zeros is -0, and adding that changes no number, not even -0.
  group.weight.assign(first_row.back() * width, -T(0));
  group.source.assign(first_row.back() * width, 0);
  group.output.assign(num_outputs_ * width, 0);
  std::vector<int32_t> slot_row;
  std::vector<bool> seen(group.num_nodes);
  for (size_t lane = 0; lane < group.genome.size(); ++lane) {
    const int64_t genome = group.genome[lane], first = s.node_start[genome];
    const auto position = [&](int64_t row) { return static_cast<int32_t>(row * width + lane); };
    slot_row.assign(std::max(s.num_slots[genome], num_inputs_), 0);
    for (int64_t i = 0; i < num_inputs_; ++i) slot_row[i] = position(1 + i);
    for (int64_t k = 0; k < s.num_nodes(genome); ++k) {
      const int64_t node = first + k, edge = s.edge_start[node];
      for (int64_t j = 0; j < s.edge_start[node + 1] - edge; ++j) {
        const int64_t at = (first_row[k] + j) * width + lane;
        group.weight[at] = s.weight[edge + j];
        group.source[at] = slot_row[s.source[edge + j]];
      }
      slot_row[s.slot[node]] = position(1 + num_inputs_ + k);
      group.genes[2 * k * width + lane] = s.bias[node];
      group.genes[(2 * k + 1) * width + lane] = s.response[node];
      group.each[k * width + lane] = s.activation[node];
      if (!seen[k]) {
        group.activation[k] = s.activation[node];
      } else if (group.activation[k] != s.activation[node]) {
        group.activation[k] = LaneGroup<T>::kDiffer;
      }
      seen[k] = true;
    }
    for (int64_t o = 0; o < num_outputs_; ++o) {
      const int32_t slot = s.output_slot[genome * num_outputs_ + o];
      group.output[o * width + lane] = slot < 0 ? 0 : slot_row[slot];
    }
  }
}

template <class T>
LaneGroupView<T> LaneGroups<T>::operator[](int64_t i) const {
  const LaneGroup<T>& group = groups_[i];
  return {group.num_nodes,
          static_cast<int64_t>(group.genome.size()),
          num_inputs_,
          num_outputs_,
          group.genome.data(),
          group.num_links.data(),
          group.activation.data(),
          group.each.data(),
          group.genes.data(),
          group.weight.data(),
          group.source.data(),
          group.output.data()};
}

template class LaneGroups<float>;
template class LaneGroups<double>;

}  // namespace evonet
