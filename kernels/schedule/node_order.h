// node_order.h: live nodes, sorted by (level, aggregation, activation, in-degree), so that
// neighbours do the same work.
#pragma once

#include "nodes/function_ids.h"
#include "schedule/level_walk.h"

EVONET_NAMESPACE_BEGIN

// Whether a node is never evaluated and stays 0.
EVONET_FN bool is_idle_node(Wiring wiring, int32 num_links) {
  return wiring == kNextStep && num_links == 0;
}

// Whether it adds up its links, whatever functions its genes name.
EVONET_FN bool is_adding_node(Wiring wiring, int32 num_links) {
  return wiring == kSpikes || is_idle_node(wiring, num_links);
}

// What nodes do; the genes are those of one genome.
struct NodeRoles {
  Wiring wiring;
  const unsigned char *activation_gene, *aggregation_gene;  // [N]
  const int32* link_start;                                  // [N + 1]

  EVONET_METHOD int32 num_links(int32 node) const {
    return link_start[node + 1] - link_start[node];
  }
  EVONET_METHOD bool is_idle(int32 node) const { return is_idle_node(wiring, num_links(node)); }
  EVONET_METHOD bool only_adds(int32 node) const { return is_adding_node(wiring, num_links(node)); }
  EVONET_METHOD unsigned char activation(int32 node) const {
    return only_adds(node) ? (unsigned char)ACT_IDENTITY : activation_gene[node];
  }
  EVONET_METHOD unsigned char aggregation(int32 node) const {
    return only_adds(node) ? (unsigned char)AGG_SUM : aggregation_gene[node];
  }
  // Nodes of one level are sorted by this number, then by their own.
  EVONET_METHOD unsigned long long work(int32 node) const {
    const unsigned int function = (unsigned int)aggregation(node) << 8 | activation(node);
    return (unsigned long long)function << 32 | (unsigned int)num_links(node);
  }
};

// Memory for the order of one genome's nodes, lent by the caller.
struct NodeOrder {
  int32* order;      // [N] nodes as the schedule has them
  int32* level_end;  // [N + 2] the nodes up to and including each level

  // False if it was interrupted. The walk's first level, of nodes without links, may be empty, and
  // the schedule then begins with its second one: `skipped` is 1.
  template <class Worker>
  EVONET_METHOD bool run(Worker& worker, const LevelWalk& walk, int32 num_inputs, int32 num_live,
                         const NodeRoles& roles, int32& num_levels, int32& skipped) const {
    int32 levels = 0;
    const int32* const level = walk.level + num_inputs;
    if (worker.is_first()) levels = divide(walk.live, level, num_live);
    worker.sync();
    levels = worker.share(levels);
    skipped = levels > 0 && level_end[0] == 0;
    num_levels = levels - skipped;
    return worker.sort_levels(order, walk.live, level, level_end, levels, num_live, roles);
  }

 private:
  // Writes live nodes by level, in any order within one; returns the number of levels.
  EVONET_METHOD int32 divide(const int32* live, const int32* level, int32 num_live) const {
    int32 deepest = -1;
    for (int32 i = 0; i < num_live; ++i) {
      deepest = level[live[i]] > deepest ? level[live[i]] : deepest;
    }
    for (int32 l = 0; l <= deepest + 1; ++l) level_end[l] = 0;
    for (int32 i = 0; i < num_live; ++i) ++level_end[level[live[i]] + 1];
    for (int32 l = 0; l <= deepest; ++l) level_end[l + 1] += level_end[l];
    for (int32 i = 0; i < num_live; ++i) order[level_end[level[live[i]]]++] = live[i];
    return deepest + 1;
  }
};

EVONET_NAMESPACE_END
