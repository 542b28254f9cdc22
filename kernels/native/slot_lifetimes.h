// slot_lifetimes.h: which slot keeps the value of each node. A linear scan over levels: a slot is
// free after the last level that reads it, and the next level takes free slots before new ones.
// Levels are computed in parallel, so nothing within a level may take what that level still reads.
// Outputs, which are read after the last level, keep their slots.
#pragma once

#include <vector>

#include "native/genome_links.h"

namespace evonet {

// Slots of the values in one genome: inputs have their own, in order.
class SlotLifetimes {
 public:
  explicit SlotLifetimes(int32_t num_inputs) : num_inputs_(num_inputs), slot_(num_inputs) {
    for (int32_t i = 0; i < num_inputs; ++i) slot_[i] = i;
  }

  int32_t operator[](int32_t number) const { return slot_[number]; }
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
  bool reuse(const GenomeLinks<T>& links, int32_t num_outputs, const int32_t* level_end,
             int32_t num_levels, NodeAt node, Interrupt& interrupt) {
    if (!find_last_readers(links, num_outputs, level_end, num_levels, node, interrupt)) {
      return false;
    }
    ending_.assign(num_levels + 1, kNone);
    const int32_t count = num_levels == 0 ? 0 : level_end[num_levels - 1];
    following_.resize(count);
    for (int32_t k = 0; k < count; ++k) {
      int32_t& first = ending_[last_reader_[num_inputs_ + node(k)]];
      following_[k] = first;
      first = k;
    }
    slot_.resize(num_inputs_ + links.num_nodes());
    free_.clear();
    num_slots_ = num_inputs_;
    for (int32_t l = 0, k = 0; l < num_levels; ++l) {
      // From the last node to the first, so that the first one is on top.
      for (int32_t i = l == 0 ? kNone : ending_[l - 1]; i != kNone; i = following_[i]) {
        free_.push_back(slot_[num_inputs_ + node(i)]);
      }
      for (; k < level_end[l]; ++k) {
        int32_t& slot = slot_[num_inputs_ + node(k)];
        if (free_.empty()) {
          slot = num_slots_++;
        } else {
          slot = free_.back();
          free_.pop_back();
        }
      }
    }
    return true;
  }

 private:
  static constexpr int32_t kNone = -1;

  // The last level that reads each node, its own if none does.
  template <class T, class NodeAt>
  bool find_last_readers(const GenomeLinks<T>& links, int32_t num_outputs, const int32_t* level_end,
                         int32_t num_levels, NodeAt node, Interrupt& interrupt) {
    last_reader_.resize(num_inputs_ + links.num_nodes());
    int32_t* const last_reader = last_reader_.data();
    const GenomeLink* const link = links.data();
    Patience patience(interrupt);
    for (int32_t l = 0, k = 0; l < num_levels; ++l) {
      for (; k < level_end[l]; ++k) {
        const int32_t begin = links.begin(node(k)), end = links.end(node(k));
        last_reader[num_inputs_ + node(k)] = l;
        for (int32_t e = begin; e < end; ++e) last_reader[link[e].source] = l;  // levels ascend
        if (patience.ends_after(end - begin + 1)) return false;
      }
    }
    for (int32_t o = 0; o < num_outputs; ++o) last_reader[num_inputs_ + o] = num_levels;
    return true;
  }

  const int32_t num_inputs_;
  int32_t num_slots_ = 0;
  std::vector<int32_t> slot_, last_reader_;  // by input or node number
  std::vector<int32_t> ending_, following_;  // lists of k: the first by level, the next by k
  std::vector<int32_t> free_;
};

}  // namespace evonet
