// compile_genome.h: how one genome becomes levels, all steps linear in its genes:
//   1. keys become local node numbers; enabled links are grouped by target (link_groups.h);
//   2. a walk from the outputs finds the nodes that matter and their levels (level_walk.h);
//   3. nodes are sorted by (level, aggregation, activation, in-degree), so that neighbours do the
//      same work (node_order.h);
//   4. every node gets a slot (slot_lifetimes.h), and links are written with the slots that they
//      read, by whoever called.
// In networks with memory a link may act one step later. It then reads what the cell of its source
// remembers: one of the last slots. Without a link, a node of such a network is never
// evaluated and stays 0, as in neat-python: it becomes a node that adds up nothing.
#pragma once

#include "schedule/slot_lifetimes.h"

EVONET_NAMESPACE_BEGIN

// What was found out about a genome; the arrays are where the steps have left them.
struct CompiledGenome {
  int32 num_live, num_levels, num_slots;
  int32 skipped;  // levels of the walk before the first of the schedule
  bool acyclic;   // no output needs a node on or behind a cycle
};

// Where genomes are compiled, one after the other.
struct GenomeCompiler {
  int32 num_outputs;
  CompileOptions options;
  LevelWalk walk;
  NodeOrder order;
  SlotLifetimes slots;

  // Steps 2 to 4, of a genome whose links are grouped; false if it was interrupted.
  template <class Worker>
  EVONET_METHOD bool run(Worker& worker, const LinkGroups& links, const NodeRoles& roles,
                         CompiledGenome& out) const {
    const int32 num_inputs = links.num_inputs;
    if (!walk.run(worker, links, num_outputs, options.wiring, out.num_live, out.acyclic) ||
        !order.run(worker, walk, num_inputs, out.num_live, roles, out.num_levels, out.skipped)) {
      return false;
    }
    if (options.reuse_slots && options.wiring == kLevels && options.num_states == 0) {
      return slots.reuse(worker, links, walk, num_outputs, order.order, level_end(out),
                         out.num_levels, out.skipped, out.num_slots);
    }
    out.num_slots = slots.keep_all(worker, order.order, out.num_live, num_inputs, links.num_nodes,
                                   options.num_states);
    return true;
  }

  EVONET_METHOD const int32* level_end(const CompiledGenome& genome) const {
    return order.level_end + genome.skipped;
  }

  // The slot of an output by its number; -1 for one on or behind a cycle, which stays 0.
  EVONET_METHOD int32 output_slot(int32 number) const {
    return walk.level[number] == LevelWalk::kCyclic ? -1 : slots.slot[number];
  }
};

EVONET_NAMESPACE_END
