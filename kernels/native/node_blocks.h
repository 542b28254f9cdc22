// node_blocks.h: finds the nodes of a level that read the same links in the same order. Pruned and
// generated networks are full of them: a block of rows of a layer's matrix with equal patterns.
// Such nodes are computed together, so that a row of values is loaded once for all of them.
#pragma once

#include <vector>

#include "native/buffer.h"
#include "native/node_blocks_view.h"
#include "native/schedule_view.h"

namespace evonet {

// In place, an activation of any id on `count` numbers, as ForwardKernels has it.
template <class T>
using ActivateNumbers = void (*)(int id, T* numbers, int64_t count);

// One genome of a schedule without memory.
template <class T>
class NodeBlocks {
 public:
  NodeBlocks(const ScheduleView<T>& schedule, int64_t genome, ActivateNumbers<T> activate);

  NodeBlocksView<T> view() const;
  int64_t num_segments() const { return static_cast<int64_t>(links_.size()); }
  // Links that nodes share with others of their block, in percent of all.
  int64_t shared_percent() const { return all_ == 0 ? 0 : 100 * shared_ / all_; }
  bool may_drop() const;
  const std::vector<int64_t>& segment_levels() const { return levels_; }

  static constexpr int kMostNodes = 8;
  // Levels between two looks for samples that can leave: few enough that those which die early
  // save work, many enough that a tile is worth bringing into the cache.
  static constexpr int64_t kLevelsInSegment = 8;

 private:
  void add_level(const ScheduleView<T>& s, int64_t begin, int64_t end);
  void add_block(const ScheduleView<T>& s, const int64_t* node, int32_t count);
  bool stays_zero(const ScheduleView<T>& s, int64_t begin, int64_t end,
                  ActivateNumbers<T> activate) const;
  void find_live(const ScheduleView<T>& s, int64_t genome);

  std::vector<NodeBlock> blocks_;
  std::vector<int64_t> node_, segment_, links_, live_start_, levels_;
  std::vector<T> weight_;
  std::vector<int32_t> live_;
  Buffer<bool> may_drop_;
  int64_t shared_ = 0, all_ = 0;
};

}  // namespace evonet
