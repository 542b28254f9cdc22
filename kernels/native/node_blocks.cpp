#include "native/node_blocks.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "nodes/function_ids.h"
#include "numerics/portable.h"

namespace evonet {
namespace {

template <class T>
uint64_t hash_links(const ScheduleView<T>& s, int64_t node) {
  uint64_t hash = 0x9e3779b97f4a7c15u + s.activation[node];
  for (int64_t e = s.edge_start[node]; e < s.edge_start[node + 1]; ++e) {
    hash = (hash ^ static_cast<uint32_t>(s.source[e])) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 29;
  }
  return hash;
}

template <class T>
bool same_links(const ScheduleView<T>& s, int64_t a, int64_t b) {
  const int64_t count = s.edge_start[a + 1] - s.edge_start[a];
  return s.activation[a] == s.activation[b] && count == s.edge_start[b + 1] - s.edge_start[b] &&
         std::memcmp(s.source + s.edge_start[a], s.source + s.edge_start[b],
                     static_cast<size_t>(count) * sizeof(int32_t)) == 0;
}

// Whether the fast loops may compute it.
template <class T>
bool sums(const ScheduleView<T>& s, int64_t node) {
  const int64_t links = s.edge_start[node + 1] - s.edge_start[node];
  return s.aggregation[node] == AGG_SUM && 0 < links && links < (1 << 20);
}

}  // namespace

template <class T>
NodeBlocks<T>::NodeBlocks(const ScheduleView<T>& s, int64_t genome, ActivateNumbers<T> activate) {
  const int64_t first = s.node_start[genome];
  const int64_t num_levels = s.level_start[genome + 1] - s.level_start[genome];
  const int32_t* const level_end = s.level_end + s.level_start[genome];
  const auto begin_of = [&](int64_t l) { return first + (l == 0 ? 0 : level_end[l - 1]); };
  weight_.reserve(s.edge_start[s.node_start[genome + 1]] - s.edge_start[first]);
  for (int64_t l = 0; l < num_levels; l += kLevelsInSegment) {
    const int64_t end = std::min(num_levels, l + kLevelsInSegment);
    segment_.push_back(static_cast<int64_t>(blocks_.size()));
    levels_.push_back(end - l);
    links_.push_back(s.edge_start[begin_of(end)] - s.edge_start[begin_of(l)]);
    for (int64_t k = l; k < end; ++k) add_level(s, begin_of(k), begin_of(k + 1));
  }
  segment_.push_back(static_cast<int64_t>(blocks_.size()));
  may_drop_ = Buffer<bool>(num_segments());
  bool quiet = true;
  for (int64_t i = num_segments() - 1; i >= 0; --i) {
    const int64_t l = i * kLevelsInSegment;
    quiet = quiet && stays_zero(s, begin_of(l), begin_of(l + levels_[i]), activate);
    may_drop_.data[i] = quiet;
  }
  find_live(s, genome);
}

template <class T>
void NodeBlocks<T>::add_level(const ScheduleView<T>& s, int64_t begin, int64_t end) {
  std::unordered_map<uint64_t, std::vector<int64_t>> alike;
  std::vector<uint64_t> order;
  for (int64_t k = begin; k < end; ++k) {
    if (!sums(s, k)) {
      const bool follows = k > begin && !blocks_.empty() && blocks_.back().num_nodes == 0 &&
                           blocks_.back().end == k && s.activation[k - 1] == s.activation[k] &&
                           s.aggregation[k - 1] == s.aggregation[k];
      if (!follows) blocks_.push_back({0, 0, 0, 0, k, k, s.activation[k]});
      blocks_.back().end = k + 1;
      continue;
    }
    uint64_t hash = hash_links(s, k);
    // Of two lists with equal hashes, the later one looks for a hash of its own.
    for (;; ++hash) {
      std::vector<int64_t>& nodes = alike[hash];
      if (nodes.empty()) order.push_back(hash);
      if (nodes.empty() || same_links(s, nodes[0], k)) {
        nodes.push_back(k);
        break;
      }
    }
  }
  for (const uint64_t hash : order) {
    const std::vector<int64_t>& nodes = alike[hash];
    const auto count = static_cast<int32_t>(nodes.size());
    for (int32_t done = 0, size = kMostNodes; done < count; done += size) {
      while (size > count - done) size /= 2;
      add_block(s, nodes.data() + done, size);
    }
  }
}

template <class T>
void NodeBlocks<T>::add_block(const ScheduleView<T>& s, const int64_t* node, int32_t count) {
  const int64_t edge = s.edge_start[node[0]];
  const auto links = static_cast<int32_t>(s.edge_start[node[0] + 1] - edge);
  NodeBlock block{
      count, links, edge, edge, static_cast<int64_t>(node_.size()), 0, s.activation[node[0]]};
  node_.insert(node_.end(), node, node + count);
  all_ += int64_t{links} * count;
  if (count > 1) {
    shared_ += int64_t{links} * count;
    block.weight = static_cast<int64_t>(weight_.size());
    for (int32_t e = 0; e < links; ++e) {
      for (int32_t n = 0; n < count; ++n) weight_.push_back(s.weight[s.edge_start[node[n]] + e]);
    }
  }
  blocks_.push_back(block);
}

// A sum of zeros is +0 whatever the finite weights, so a node's value depends on its genes alone.
template <class T>
bool NodeBlocks<T>::stays_zero(const ScheduleView<T>& s, int64_t begin, int64_t end,
                               ActivateNumbers<T> activate) const {
  for (int64_t k = begin; k < end; ++k) {
    if (s.aggregation[k] != AGG_SUM) return false;
    alignas(64) T value[64] = {multiply_add(s.response[k], T(0), s.bias[k])};
    activate(s.activation[k], value, 1);
    if (value[0] != T(0) || __builtin_signbit(value[0])) return false;
  }
  for (int64_t e = s.edge_start[begin]; e < s.edge_start[end]; ++e) {
    if (!__builtin_isfinite(s.weight[e])) return false;
  }
  return true;
}

template <class T>
void NodeBlocks<T>::find_live(const ScheduleView<T>& s, int64_t genome) {
  const int64_t first = s.node_start[genome],
                num_levels = s.level_start[genome + 1] - s.level_start[genome];
  const int32_t* const level_end = s.level_end + s.level_start[genome];
  std::vector<bool> is_live(s.num_slots[genome]);
  for (int64_t o = 0; o < s.num_outputs; ++o) {
    const int32_t slot = s.output_slot[genome * s.num_outputs + o];
    if (slot >= 0) is_live[slot] = true;
  }
  std::vector<std::vector<int32_t>> found(num_segments());
  for (int64_t l = num_levels - 1; l >= 0; --l) {
    const int64_t begin = first + (l == 0 ? 0 : level_end[l - 1]), end = first + level_end[l];
    for (int64_t k = begin; k < end; ++k) is_live[s.slot[k]] = false;
    for (int64_t e = s.edge_start[begin]; e < s.edge_start[end]; ++e) is_live[s.source[e]] = true;
    if (l % kLevelsInSegment != 0) continue;
    for (int64_t slot = 0; slot < s.num_slots[genome]; ++slot) {
      if (is_live[slot]) found[l / kLevelsInSegment].push_back(static_cast<int32_t>(slot));
    }
  }
  live_start_.push_back(0);
  for (const std::vector<int32_t>& slots : found) {
    live_.insert(live_.end(), slots.begin(), slots.end());
    live_start_.push_back(static_cast<int64_t>(live_.size()));
  }
}

template <class T>
bool NodeBlocks<T>::may_drop() const {
  return std::any_of(may_drop_.data.get(), may_drop_.data.get() + may_drop_.size,
                     [](bool allowed) { return allowed; });
}

template <class T>
NodeBlocksView<T> NodeBlocks<T>::view() const {
  return {blocks_.data(), node_.data(), weight_.data(),     num_segments(),      segment_.data(),
          links_.data(),  live_.data(), live_start_.data(), may_drop_.data.get()};
}

template class NodeBlocks<float>;
template class NodeBlocks<double>;

}  // namespace evonet
