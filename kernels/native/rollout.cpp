#include "native/rollout.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "native/memory.h"

namespace evonet {

RolloutQueue::RolloutQueue(const int64_t* genomes, int64_t num_genomes, int64_t num_episodes)
    : genomes_(genomes),
      num_genomes_(num_genomes),
      num_episodes_(num_episodes),
      blocks_((num_episodes + kMostLanes - 1) / kMostLanes) {}

bool RolloutQueue::take(RolloutItem& item) {
  const int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
  if (index >= num_items()) return false;
  const int64_t position = index / blocks_, block = index % blocks_;
  item.genome = genomes_[position];
  item.episode = block * kMostLanes;
  item.end = std::min<int64_t>(item.episode + kMostLanes, num_episodes_);
  item.result = position * num_episodes_ + item.episode;
  return true;
}

template <class T>
bool rollout(const RolloutKernels<T>& kernels, const RolloutCall<T>& call, const int64_t* genomes,
             int64_t num_genomes, int64_t num_episodes, int threads, const Interrupt::Poll& poll) {
  RolloutQueue queue(genomes, num_genomes, num_episodes);
  const ScheduleView<T>& s = call.schedule;
  int64_t max_slots = s.num_inputs, max_links = 0;
  for (int64_t i = 0; i < num_genomes; ++i) {
    const int64_t first = s.node_start[genomes[i]], last = s.node_start[genomes[i] + 1];
    max_slots = std::max(max_slots, s.num_inputs + last - first);
    for (int64_t k = first; k < last; ++k) {
      max_links = std::max(max_links, s.edge_start[k + 1] - s.edge_start[k]);
    }
  }
  if (threads <= 0) threads = available_threads();
  const auto workers = static_cast<int>(std::min<int64_t>(threads, queue.num_items()));
  std::vector<Memory<T>> memories;
  std::vector<std::unique_ptr<Lanes<T>>> lanes;
  for (int i = 0; i < workers; ++i) {
    memories.emplace_back(max_slots * kMostLanes, max_links);
    lanes.push_back(std::make_unique<Lanes<T>>());
  }
  // Every task works until all is done, so a task that starts late finds nothing left.
  return parallel_for(
      workers, workers,
      [&](int worker, int64_t, Interrupt& interrupt) {
        Workspace<T> workspace = memories[worker].workspace();
        kernels.run(call, queue, *lanes[worker], workspace, interrupt);
      },
      poll);
}

template bool rollout<float>(const RolloutKernels<float>&, const RolloutCall<float>&,
                             const int64_t*, int64_t, int64_t, int, const Interrupt::Poll&);
template bool rollout<double>(const RolloutKernels<double>&, const RolloutCall<double>&,
                              const int64_t*, int64_t, int64_t, int, const Interrupt::Poll&);

}  // namespace evonet
