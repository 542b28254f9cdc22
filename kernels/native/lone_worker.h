// lone_worker.h: a thread of the processor that compiles a genome alone; schedule/link_groups.h
// lists what a worker has. Long loops answer Ctrl-C.
#pragma once

#include <algorithm>
#include <vector>

#include "native/in_pieces.h"
#include "schedule/node_order.h"

namespace evonet {

class LoneWorker {
 public:
  static constexpr int32_t kLanes = 1;

  void answer(Interrupt& interrupt) {
    interrupt_ = &interrupt;
    patience_ = Patience(interrupt);
  }

  template <class Body>
  bool each(int32_t count, Body body) {
    return in_pieces(*interrupt_, count, body);
  }
  int32_t padded(int32_t count) const { return count; }
  void sync() const {}
  bool is_first() const { return true; }
  template <class X>
  X share(X x) const {
    return x;
  }
  bool all(bool x) const { return x; }
  void add(int32_t& to, int32_t x) const { to += x; }
  void raise(int32_t& to, int32_t x) const { to = std::max(to, x); }
  int32_t take(int32_t* cursor, int32_t i, bool wanted) const {
    const int32_t place = cursor[i];
    cursor[i] = place + wanted;
    return place;
  }
  void running_sum(int32_t* x, int32_t count) const {
    for (int32_t k = 0, sum = 0; k < count; ++k) x[k] = sum += x[k];
  }
  bool tires_after(int64_t genes) { return patience_.ends_after(genes); }

  // Sorts the nodes of every level by their work. False if it was interrupted.
  bool sort_levels(int32_t* order, int32_t*, const int32_t*, const int32_t* level_end,
                   int32_t num_levels, int32_t, const NodeRoles& roles) {
    for (int32_t l = 0, begin = 0; l < num_levels; begin = level_end[l++]) {
      const int32_t count = level_end[l] - begin;
      if (count > kFew) {
        if (!sort_wide_level(order + begin, count, roles)) return false;
      } else if (count > 1) {
        sort_few(order + begin, count, roles);
      }
    }
    return true;
  }

 private:
  static constexpr int32_t kFew = 12;

  struct Ordered {
    uint64_t work;
    int32_t node;

    bool operator<(const Ordered& other) const {
      return work != other.work ? work < other.work : node < other.node;
    }
  };

  // Every node counts who comes before it: no branch that the processor would foresee wrongly.
  static void sort_few(int32_t* nodes, int count, const NodeRoles& roles) {
    Ordered found[kFew];
    for (int i = 0; i < count; ++i) found[i] = {roles.work(nodes[i]), nodes[i]};
    for (int i = 0; i < count; ++i) {
      const Ordered mine = found[i];
      int before = 0;
      for (int j = 0; j < count; ++j) {
        before += (found[j].work < mine.work) |
                  ((found[j].work == mine.work) & (found[j].node < mine.node));
      }
      nodes[before] = mine.node;
    }
  }

  // In pieces, which are then merged.
  bool sort_wide_level(int32_t* nodes, int64_t count, const NodeRoles& roles) {
    if (static_cast<int64_t>(wide_.size()) < count) wide_.resize(count);
    const auto first = wide_.begin();
    for (int64_t i = 0; i < count; ++i) first[i] = {roles.work(nodes[i]), nodes[i]};
    const bool sorted = in_pieces(
        *interrupt_, count, [&](int32_t from, int32_t to) { std::sort(first + from, first + to); });
    if (!sorted) return false;
    for (int64_t width = kGenesInPiece; width < count; width *= 2) {
      for (int64_t from = 0; from + width < count; from += 2 * width) {
        if (interrupt_->requested()) return false;
        std::inplace_merge(first + from, first + from + width,
                           first + std::min(count, from + 2 * width));
      }
    }
    for (int64_t i = 0; i < count; ++i) nodes[i] = first[i].node;
    return true;
  }

  Interrupt* interrupt_ = nullptr;
  Patience patience_;
  std::vector<Ordered> wide_;  // nodes of one level
};

}  // namespace evonet
