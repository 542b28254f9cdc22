// level_walk.h: which nodes of a genome its outputs need, and on which level each can be computed.
// One depth-first walk against the links, from the outputs, gives each node the length of its
// longest path from an input, or finds it behind a cycle. One lane walks: which links close a cycle
// depends on the order.
#pragma once

#include "schedule/link_groups.h"
#include "schedule/wiring.h"

EVONET_NAMESPACE_BEGIN

// Memory for the walk over one genome, lent by the caller.
struct LevelWalk {
  static constexpr int32 kUnseen = -1, kOpen = -2, kCyclic = -3;
  static constexpr int32 kCyclicLevel = 0x7fffffff;  // deeper than any node can be

  struct Visit {
    int32 node, level, next_link;
  };

  int32* level;  // [I + N] by number; negative unless a node is live; inputs have 0
  int32* live;   // [N] nodes that can be evaluated
  Visit* stack;  // [N]

  // Links that act one step later change their source to what a node remembers. False if it was
  // interrupted. A node still open when it is met again closes a cycle; whatever reads a cyclic
  // node is cyclic.
  template <class Worker>
  EVONET_METHOD bool run(Worker& worker, const LinkGroups& genome, int32 num_outputs, Wiring wiring,
                         int32& num_live, bool& acyclic) const {
    int32* const first = level + genome.num_inputs;
    worker.each(genome.num_nodes, [&](int32 begin, int32 end) {
      for (int32 k = begin; k < end; k += Worker::kLanes) first[k] = kUnseen;
    });
    worker.sync();
    num_live = 0;
    acyclic = true;
    bool finished = true;
    if (worker.is_first()) {
      switch (wiring) {
        case kLevels:
          finished = walk<kLevels>(worker, genome, num_outputs, num_live, acyclic);
          break;
        case kSameStep:
          finished = walk<kSameStep>(worker, genome, num_outputs, num_live, acyclic);
          break;
        default:
          finished = walk<kNextStep>(worker, genome, num_outputs, num_live, acyclic);
      }
    }
    worker.sync();
    num_live = worker.share(num_live);
    acyclic = worker.share(acyclic);
    return worker.share(finished);
  }

 private:
  template <Wiring kWiring, class Worker>
  EVONET_METHOD bool walk(Worker& worker, const LinkGroups& genome, int32 num_outputs, int32& found,
                          bool& acyclic) const {
    constexpr bool kAllLater = kWiring == kNextStep;  // or kSpikes
    const int32 num_inputs = genome.num_inputs, num_nodes = genome.num_nodes;
    const int32* const link_start = genome.link_start;
    int32 *const levels = level, *const nodes = live;
    GenomeLink* const links = genome.links;
    const auto open = [&](int32 node) -> Visit {
      levels[num_inputs + node] = kOpen;
      return {node, 0, link_start[node]};
    };
    Visit* top = stack;
    int32 num_live = 0;
    for (int32 output = 0; output < num_outputs; ++output) {
      if (levels[num_inputs + output] != kUnseen) continue;
      Visit visit = open(output);
      for (;;) {
        if (worker.tires_after(1)) return false;
        const int32 end = link_start[visit.node + 1];
        bool descend = false;
        while (visit.next_link < end) {
          GenomeLink& link = links[visit.next_link++];
          const int32 source = link.source, known = levels[source];
          if (kAllLater && source >= num_inputs) link.source += num_nodes;
          if (known >= 0) {
            visit.level = known + 1 > visit.level ? known + 1 : visit.level;
          } else if (known == kUnseen) {
            *top++ = visit;
            visit = open(source - num_inputs);
            descend = true;
            break;
          } else if (kWiring == kLevels) {
            visit.level = kCyclicLevel;
          } else if (!kAllLater) {
            link.source += num_nodes;
          }
        }
        if (descend) continue;
        if (kAllLater) visit.level = 0;
        if (visit.level >= kCyclicLevel) {
          levels[num_inputs + visit.node] = kCyclic;
          acyclic = false;
        } else {
          levels[num_inputs + visit.node] = visit.level;
          nodes[num_live++] = visit.node;
        }
        if (top == stack) break;
        const int32 read = visit.level < kCyclicLevel - 1 ? visit.level : kCyclicLevel - 1;
        visit = *--top;
        visit.level = read + 1 > visit.level ? read + 1 : visit.level;
      }
    }
    found = num_live;
    return true;
  }
};

EVONET_NAMESPACE_END
