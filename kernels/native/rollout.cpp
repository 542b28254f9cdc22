#include "native/rollout.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "native/worker_memory.h"
#include "nodes/function_ids.h"

namespace evonet {
namespace {

// What the memory for the networks that play must hold.
struct Extent {
  int64_t max_nodes = 0, max_slots = 0, max_links = 0, num_links = 0;
  // [max_nodes + 1], if node k has as many links as any k-th node.
  std::vector<int64_t> first_row{0};
  bool fits_ensemble = true;  // sums alone, by few activations

  int64_t num_rows() const { return first_row.back(); }
};

template <class T>
Extent measure(const ScheduleView<T>& s, const int64_t* genomes, int64_t num_genomes) {
  Extent extent;
  std::vector<int64_t> most;
  for (int64_t i = 0; i < num_genomes; ++i) {
    const int64_t first = s.node_start[genomes[i]], last = s.node_start[genomes[i] + 1];
    extent.max_slots = std::max(extent.max_slots, s.num_slots[genomes[i]]);
    if (last - first > static_cast<int64_t>(most.size())) most.resize(last - first);
    for (int64_t k = first; k < last; ++k) {
      const int64_t links = s.edge_start[k + 1] - s.edge_start[k];
      most[k - first] = std::max(most[k - first], links);
      extent.max_links = std::max(extent.max_links, links);
      extent.num_links += links;
      extent.fits_ensemble =
          extent.fits_ensemble && s.aggregation[k] == AGG_SUM && s.activation[k] < kMostActivations;
    }
  }
  extent.max_nodes = static_cast<int64_t>(most.size());
  for (int64_t links : most) extent.first_row.push_back(extent.first_row.back() + links);
  return extent;
}

// Owns what an Ensemble points to.
template <class T>
class EnsembleMemory {
 public:
  EnsembleMemory(const ScheduleView<T>& s, const Extent& extent, int group_lanes)
      : rows_(kMostLanes * extent.num_rows()),
        sources_(kMostLanes * extent.num_rows()),
        nodes_(2 * kMostLanes * extent.max_nodes),
        values_((s.num_inputs + (1 + s.num_states) * extent.max_nodes + 1) * group_lanes),
        cells_(kMostLanes * extent.max_nodes * s.num_parameters),
        integers_(kMostLanes * (2 * extent.max_nodes + s.num_outputs + 1) + extent.max_slots),
        groups_(kMostLanes / group_lanes * (extent.max_nodes + 1)),
        bits_(kMostLanes / group_lanes * extent.max_nodes) {
    const int64_t nodes = extent.max_nodes, groups = kMostLanes / group_lanes;
    int32_t* integers = integers_.data();
    view = {nodes,
            extent.num_rows(),
            s.num_inputs,
            s.num_outputs,
            extent.first_row.data(),
            nodes_.data(),
            nodes_.data() + kMostLanes * nodes,
            rows_.data(),
            values_.data(),
            cells_.data(),
            sources_.data(),
            integers + 2 * kMostLanes * nodes,
            integers,
            integers + kMostLanes * nodes,
            groups_.data(),
            bits_.data(),
            integers + kMostLanes * (2 * nodes + s.num_outputs),
            groups_.data() + groups * nodes,
            integers + kMostLanes * (2 * nodes + s.num_outputs + 1),
            s.kind,
            s.num_states,
            s.num_parameters,
            s.steps,
            s.time_step};
  }

  Ensemble<T> view;

 private:
  AlignedArray<T> rows_;
  AlignedArray<int32_t> sources_;
  AlignedArray<T> nodes_, values_, cells_;
  AlignedArray<int32_t> integers_, groups_;
  AlignedArray<uint64_t> bits_;
};

// Up to so many episodes, networks side by side are faster than the episodes of one network; fitted
// to measurements with 6 to 1,000 links. Larger networks differ more, and lose more to filling up.
int64_t few_episodes(int64_t mean_links) { return 3 + 200 / (mean_links + 10); }

// Links in a row of nodes: what fits the second-level cache.
constexpr int64_t kMostRows = 2048;

}  // namespace

RolloutQueue::RolloutQueue(const int64_t* genomes, const int64_t* order, int64_t num_genomes,
                           int64_t num_episodes)
    : genomes_(genomes),
      order_(order),
      num_genomes_(num_genomes),
      num_episodes_(num_episodes),
      blocks_((num_episodes + kMostLanes - 1) / kMostLanes) {}

bool RolloutQueue::take(RolloutItem& item) {
  const int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
  if (index >= num_items()) return false;
  const int64_t position = order_[index / blocks_], block = index % blocks_;
  item.genome = genomes_[position];
  item.episode = block * kMostLanes;
  item.end = std::min<int64_t>(item.episode + kMostLanes, num_episodes_);
  item.result = position * num_episodes_ + item.episode;
  return true;
}

template <class T>
bool rollout(const RolloutKernels<T>& kernels, const RolloutCall<T>& call, const int64_t* genomes,
             int64_t num_genomes, int64_t num_episodes, int threads, const Interrupt::Poll& poll) {
  const ScheduleView<T>& s = call.schedule;
  const Extent extent = measure(s, genomes, num_genomes);
  const bool side_by_side = num_genomes * num_episodes >= kernels.group_lanes / 2 &&
                            num_episodes <= few_episodes(extent.num_links / num_genomes) &&
                            extent.fits_ensemble && extent.num_rows() <= kMostRows;
  std::vector<int64_t> order(num_genomes);
  std::iota(order.begin(), order.end(), 0);
  if (side_by_side) {  // neighbours should be of equal size
    const auto links = [&](int64_t i) {
      return s.edge_start[s.node_start[genomes[i] + 1]] - s.edge_start[s.node_start[genomes[i]]];
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return links(a) > links(b); });
  }
  RolloutQueue queue(genomes, order.data(), num_genomes, num_episodes);
  threads = usable_threads(threads);
  const auto workers = static_cast<int>(std::min<int64_t>(threads, queue.num_items()));
  std::vector<WorkerMemory<T>> memories;
  std::vector<EnsembleMemory<T>> ensembles;
  std::vector<std::unique_ptr<Lanes<T>>> lanes;
  std::vector<std::vector<T>> remembered;
  for (int i = 0; i < workers; ++i) {
    memories.emplace_back(extent.max_slots * kMostLanes, extent.max_links);
    lanes.push_back(std::make_unique<Lanes<T>>());
    remembered.emplace_back(s.num_states * extent.max_nodes * kLaneRow);
    lanes.back()->memory = remembered.back().data();
    lanes.back()->max_nodes = extent.max_nodes;
    if (side_by_side) ensembles.emplace_back(s, extent, kernels.group_lanes);
  }
  // Every task works until all is done, so a task that starts late finds nothing left.
  return parallel_for(
      workers, workers,
      [&](int worker, int64_t, Interrupt& interrupt) {
        Workspace<T> workspace = memories[worker].workspace();
        kernels.run(call, queue, *lanes[worker], side_by_side ? &ensembles[worker].view : nullptr,
                    workspace, interrupt);
      },
      poll);
}

template bool rollout<float>(const RolloutKernels<float>&, const RolloutCall<float>&,
                             const int64_t*, int64_t, int64_t, int, const Interrupt::Poll&);
template bool rollout<double>(const RolloutKernels<double>&, const RolloutCall<double>&,
                              const int64_t*, int64_t, int64_t, int, const Interrupt::Poll&);

}  // namespace evonet
