// slot_lifetimes.h: which slot keeps the value of each node. A linear scan over levels: a slot is
// free after the last level that reads it, and the next level takes free slots before new ones.
// Levels are computed in parallel, so nothing within a level may take what that level still reads.
// Outputs, which are read after the last level, keep their slots.
#pragma once

#include "schedule/node_order.h"

EVONET_NAMESPACE_BEGIN

// Memory for the slots of one genome, lent by the caller. Inputs have the first ones, in order.
struct SlotLifetimes {
  static constexpr int32 kNone = -1;

  int32* slot;         // [I + 2 N] by number; those of inputs are there
  int32* last_reader;  // [I + N] levels, by number
  int32* ending;       // [N + 2] lists of k: the first by level
  int32* following;    // [N] and the next by k
  int32* unused;       // [N] slots

  // Every node keeps its slot to the end, and what it remembers lies behind all of them: what
  // networks with memory need, which read all values when a step ends, and gradients.
  // order[k] is the k-th node of the schedule. Returns the number of slots.
  template <class Worker>
  EVONET_METHOD int32 keep_all(Worker& worker, const int32* order, int32 count, int32 num_inputs,
                               int32 num_nodes, int32 num_states) const {
    int32 *const own = slot + num_inputs, *const states = own + num_nodes;
    worker.each(count, [&](int32 begin, int32 end) {
      for (int32 k = begin; k < end; k += Worker::kLanes) {
        own[order[k]] = num_inputs + k;
        states[order[k]] = num_inputs + count + k;
      }
    });
    worker.sync();
    return num_inputs + (1 + num_states) * count;
  }

  // Of the slots that a level frees, the next one takes those of earlier nodes first, so that the
  // slots of wide levels lie side by side. level_end holds the k one past each level, and the walk
  // has `skipped` levels before the first of them. False if it was interrupted.
  template <class Worker>
  EVONET_METHOD bool reuse(Worker& worker, const LinkGroups& links, const LevelWalk& walk,
                           int32 num_outputs, const int32* order, const int32* level_end,
                           int32 num_levels, int32 skipped, int32& num_slots) const {
    if (!find_last_readers(worker, links, walk)) return false;
    int32 used = 0;
    if (worker.is_first()) {
      used = scan(links.num_inputs, num_outputs, order, level_end, num_levels, skipped);
    }
    worker.sync();
    num_slots = worker.share(used);
    return true;
  }

 private:
  // The last level of the walk that reads each node, its own if none does. One loop over all links,
  // whatever node they belong to: nodes that nobody needs have no level, and read nothing.
  template <class Worker>
  EVONET_METHOD bool find_last_readers(Worker& worker, const LinkGroups& links,
                                       const LevelWalk& walk) const {
    const int32 num_inputs = links.num_inputs, num_nodes = links.num_nodes;
    const int32 *const all_levels = walk.level, *const level = all_levels + num_inputs;
    int32* const last = last_reader;
    worker.each(num_inputs + num_nodes, [&](int32 begin, int32 end) {
      for (int32 i = begin; i < end; i += Worker::kLanes) last[i] = all_levels[i];
    });
    worker.sync();
    const GenomeLink* const link = links.links;
    const int32* const target = links.target;
    const bool finished = worker.each(links.link_start[num_nodes], [&](int32 begin, int32 end) {
      for (int32 e = begin; e < end; e += Worker::kLanes) {
        worker.raise(last[link[e].source], level[target[link[e].conn]]);
      }
    });
    worker.sync();
    return finished;
  }

  EVONET_METHOD int32 scan(int32 num_inputs, int32 num_outputs, const int32* order,
                           const int32* level_end, int32 num_levels, int32 skipped) const {
    const int32 count = num_levels == 0 ? 0 : level_end[num_levels - 1];
    const int32 behind = skipped + num_levels;  // all levels
    int32 *const last = last_reader + num_inputs, *const own = slot + num_inputs;
    int32 *const first = ending, *const next = following;
    for (int32 o = 0; o < num_outputs; ++o) last[o] = behind;
    for (int32 l = 0; l <= behind; ++l) first[l] = kNone;
    for (int32 k = 0; k < count; ++k) {
      int32& head = first[last[order[k]]];
      next[k] = head;
      head = k;
    }
    int32 num_slots = num_inputs;
    int32* top = unused;
    for (int32 l = 0, k = 0; l < num_levels; ++l) {
      // From the last node to the first, so that the first one is on top.
      for (int32 i = l == 0 ? kNone : first[skipped + l - 1]; i != kNone; i = next[i]) {
        *top++ = own[order[i]];
      }
      for (; k < level_end[l]; ++k) own[order[k]] = top == unused ? num_slots++ : *--top;
    }
    return num_slots;
  }
};

EVONET_NAMESPACE_END
