// schedule_part.h: the schedules of consecutive genomes, and how parts become one schedule.
#pragma once

#include <vector>

#include "native/compile_schedule.h"

namespace evonet {

// Offsets count from the part's start. Buffers have room for every gene; what pruning leaves
// unused is never touched.
template <class T>
struct SchedulePart {
  Buffer<int64_t> num_nodes, num_levels, num_slots;  // per genome
  Buffer<int64_t> node_key, edge_end, gene;
  Buffer<T> bias, response, weight;
  Buffer<uint8_t> activation, aggregation;
  Buffer<int32_t> slot, source, level_end;
  int64_t genomes = 0, nodes = 0, edges = 0, levels = 0;  // filled so far

  static constexpr int64_t kSpareEdges = 4;  // to be written and ignored

  SchedulePart() = default;
  SchedulePart(int64_t genomes, int64_t nodes, int64_t edges, bool genes)
      : num_nodes(genomes),
        num_levels(genomes),
        num_slots(genomes),
        node_key(nodes),
        edge_end(nodes),
        gene(genes ? nodes : 0),
        bias(nodes),
        response(nodes),
        weight(edges + kSpareEdges),
        activation(nodes),
        aggregation(nodes),
        slot(nodes),
        source(edges + kSpareEdges),
        level_end(nodes) {}
};

// Moves all parts into `out`, which has output_slot already; false if poll asked to stop.
template <class T>
bool join_parts(std::vector<SchedulePart<T>>& parts, bool genes, int threads,
                const Interrupt::Poll& poll, CompiledSchedule<T>& out) {
  struct Offsets {
    int64_t genome = 0, node = 0, edge = 0, level = 0;
  };
  const auto num_parts = static_cast<int64_t>(parts.size());
  std::vector<Offsets> at(num_parts + 1);
  for (int64_t i = 0; i < num_parts; ++i) {
    at[i + 1] = {at[i].genome + parts[i].genomes, at[i].node + parts[i].nodes,
                 at[i].edge + parts[i].edges, at[i].level + parts[i].levels};
  }
  const Offsets total = at[num_parts];
  out.node_start = Buffer<int64_t>(total.genome + 1);
  out.level_start = Buffer<int64_t>(total.genome + 1);
  out.node_key = Buffer<int64_t>(total.node);
  out.gene = Buffer<int64_t>(genes ? total.node : 0);
  out.edge_start = Buffer<int64_t>(total.node + 1);
  out.bias = Buffer<T>(total.node);
  out.response = Buffer<T>(total.node);
  out.activation = Buffer<uint8_t>(total.node);
  out.aggregation = Buffer<uint8_t>(total.node);
  out.slot = Buffer<int32_t>(total.node);
  out.num_slots = Buffer<int64_t>(total.genome);
  out.source = Buffer<int32_t>(total.edge);
  out.weight = Buffer<T>(total.edge);
  out.level_end = Buffer<int32_t>(total.level);
  out.node_start.data[0] = out.level_start.data[0] = out.edge_start.data[0] = 0;

  return parallel_for(
      threads, num_parts,
      [&](int, int64_t index, Interrupt& interrupt) {
        SchedulePart<T>& part = parts[index];
        const Offsets base = at[index];
        const auto join = [&](auto& to, int64_t begin, const auto& from, int64_t count) {
          constexpr int64_t kPiece = 1 << 20;
          for (int64_t i = 0; i < count && !interrupt.requested(); i += kPiece) {
            const auto first = from.data.get() + i;
            std::copy(first, first + std::min(kPiece, count - i), to.data.get() + begin + i);
          }
        };
        join(out.node_key, base.node, part.node_key, part.nodes);
        join(out.gene, base.node, part.gene, genes ? part.nodes : 0);
        join(out.bias, base.node, part.bias, part.nodes);
        join(out.response, base.node, part.response, part.nodes);
        join(out.activation, base.node, part.activation, part.nodes);
        join(out.aggregation, base.node, part.aggregation, part.nodes);
        join(out.slot, base.node, part.slot, part.nodes);
        join(out.source, base.edge, part.source, part.edges);
        join(out.weight, base.edge, part.weight, part.edges);
        join(out.level_end, base.level, part.level_end, part.levels);
        join(out.num_slots, base.genome, part.num_slots, part.genomes);
        for (int64_t i = 0; i < part.nodes; ++i) {
          out.edge_start.data[base.node + i + 1] = base.edge + part.edge_end.data[i];
        }
        int64_t node = base.node, level = base.level;
        for (int64_t i = 0; i < part.genomes; ++i) {
          out.node_start.data[base.genome + i + 1] = node += part.num_nodes.data[i];
          out.level_start.data[base.genome + i + 1] = level += part.num_levels.data[i];
        }
        part = SchedulePart<T>();
      },
      poll);
}

}  // namespace evonet
