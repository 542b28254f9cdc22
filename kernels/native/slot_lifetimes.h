// slot_lifetimes.h: which slot keeps the value of each node. A linear scan over levels: a slot is
// free after the last level that reads it, and the next level takes free slots before new ones.
// Levels are computed in parallel, so nothing within a level may take what that level still reads.
// Outputs, which are read after the last level, keep their slots.
#pragma once

#include <vector>

#include "native/level_walk.h"

namespace evonet {

// Slots of the values in one genome: inputs have their own, in order.
class SlotLifetimes {
 public:
  explicit SlotLifetimes(int32_t num_inputs) : num_inputs_(num_inputs), slot_(num_inputs) {
    for (int32_t i = 0; i < num_inputs; ++i) slot_[i] = i;
  }

  int32_t operator[](int32_t number) const { return slot_[number]; }
  const int32_t* data() const { return slot_.data(); }
  int32_t num_slots() const { return num_slots_; }

  // Every node keeps its slot to the end, and what it remembers lies behind all of them: what
  // networks with memory need, which read all values when a step ends, and gradients.
  // node(k) is the k-th node in the schedule.
  template <class NodeAt>
  void keep_all(int32_t count, int32_t num_nodes, int32_t num_states, NodeAt node) {
    slot_.resize(num_inputs_ + 2 * num_nodes);
    for (int32_t k = 0; k < count; ++k) {
      slot_[num_inputs_ + node(k)] = num_inputs_ + k;
      slot_[num_inputs_ + num_nodes + node(k)] = num_inputs_ + count + k;
    }
    num_slots_ = num_inputs_ + (1 + num_states) * count;
  }

  // Of the slots that a level frees, the next one takes those of earlier nodes first, so that the
  // slots of wide levels lie side by side. level_end holds the k one past each level. False if it
  // was interrupted.
  template <class T, class NodeAt>
  bool reuse(const GenomeLinks<T>& links, const LevelWalk& walk, int32_t num_outputs,
             const int32_t* level_end, int32_t num_levels, NodeAt node, Interrupt& interrupt) {
    const int32_t count = num_levels == 0 ? 0 : level_end[num_levels - 1];
    // The walk counts a level of nodes without links, which a schedule may not have.
    const int32_t skipped = count == 0 ? 0 : walk.level(node(0));
    const int32_t last = skipped + num_levels;  // behind all levels
    if (!find_last_readers(links, walk, interrupt)) return false;
    int32_t* const last_reader = last_reader_.data();
    for (int32_t o = 0; o < num_outputs; ++o) last_reader[num_inputs_ + o] = last;
    ending_.assign(last + 1, kNone);
    following_.resize(count);
    for (int32_t k = 0; k < count; ++k) {
      int32_t& first = ending_[last_reader[num_inputs_ + node(k)]];
      following_[k] = first;
      first = k;
    }
    slot_.resize(num_inputs_ + links.num_nodes());
    free_.resize(count);
    int32_t *const slot = slot_.data() + num_inputs_, *top = free_.data();
    num_slots_ = num_inputs_;
    for (int32_t l = 0, k = 0; l < num_levels; ++l) {
      // From the last node to the first, so that the first one is on top.
      for (int32_t i = l == 0 ? kNone : ending_[skipped + l - 1]; i != kNone; i = following_[i]) {
        *top++ = slot[node(i)];
      }
      for (; k < level_end[l]; ++k) {
        slot[node(k)] = top == free_.data() ? num_slots_++ : *--top;
      }
    }
    return true;
  }

 private:
  static constexpr int32_t kNone = -1;

  // The last level of the walk that reads each node, its own if none does. One loop over all links,
  // whatever node they belong to: nodes that nobody needs have no level, and read nothing.
  template <class T>
  bool find_last_readers(const GenomeLinks<T>& links, const LevelWalk& walk, Interrupt& interrupt) {
    const int32_t *const level = walk.levels() + num_inputs_, num_nodes = links.num_nodes();
    last_reader_.resize(num_inputs_ + num_nodes);
    int32_t* const last_reader = last_reader_.data();
    std::copy(walk.levels(), level + num_nodes, last_reader);
    const GenomeLink* const link = links.data();
    const int32_t* const target = links.targets();
    return in_pieces(interrupt, links.end(num_nodes - 1), [&](int32_t begin, int32_t end) {
      for (int32_t e = begin; e < end; ++e) {
        int32_t& last = last_reader[link[e].source];
        last = std::max(last, level[target[link[e].conn]]);
      }
    });
  }

  const int32_t num_inputs_;
  int32_t num_slots_ = 0;
  std::vector<int32_t> slot_, last_reader_;  // by input or node number
  std::vector<int32_t> ending_, following_;  // lists of k: the first by level, the next by k
  std::vector<int32_t> free_;
};

}  // namespace evonet
