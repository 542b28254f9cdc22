// compile_genome.h: compiles one genome after the other (schedule/compile_genome.h) and appends
// them to a part of a schedule. Memory grows with the genomes.
#pragma once

#include "native/genome_links.h"
#include "native/schedule_part.h"
#include "schedule/compile_genome.h"

namespace evonet {

template <class T>
class PartCompiler {
 public:
  PartCompiler(const PopulationView<T>& population, const CompileOptions& options)
      : p_(population),
        options_(options),
        compiler_{static_cast<int32_t>(population.num_outputs), options, {}, {}, {}},
        links_(population),
        level_(population.num_inputs, 0),
        slot_(population.num_inputs) {
    for (int64_t i = 0; i < population.num_inputs; ++i) slot_[i] = static_cast<int32_t>(i);
  }

  enum Outcome { kAcyclic, kHasCycle, kInterrupted, kBad };

  // Appends genome g to the part; output_slot has room for num_outputs. A cycle counts if the
  // outputs need a node on or behind it. A genome that makes no sense is kBad, and ends the part.
  Outcome run(int64_t g, SchedulePart<T>& part, int32_t* output_slot, Interrupt& interrupt) {
    worker_.answer(interrupt);
    if (!links_.group(g, worker_)) return links_.makes_sense() ? kInterrupted : kBad;
    const LinkGroups& links = links_.groups();
    if (links.num_nodes > room_) grow(links.num_nodes);
    const int64_t first = links_.first_node();
    const NodeRoles roles{options_.wiring, p_.activation + first, p_.aggregation + first,
                          links.link_start};
    CompiledGenome genome;
    if (!compiler_.run(worker_, links, roles, genome) || !write(roles, genome, part)) {
      return kInterrupted;
    }
    for (int32_t o = 0; o < p_.num_outputs; ++o) {
      output_slot[o] = compiler_.output_slot(links.num_inputs + o);
    }
    return genome.acyclic ? kAcyclic : kHasCycle;
  }

 private:
  static constexpr int32_t kSpare = LinkGroups::kSpareLinks;

  void grow(int64_t nodes) {
    room_ = 2 * nodes;
    level_.resize(p_.num_inputs + room_);
    slot_.resize(p_.num_inputs + 2 * room_);
    stack_ = Buffer<LevelWalk::Visit>(room_);
    last_reader_ = Buffer<int32_t>(p_.num_inputs + room_);
    for (auto* by_node : {&live_, &order_, &level_end_, &ending_, &following_, &unused_}) {
      *by_node = Buffer<int32_t>(room_ + 2);
    }
    compiler_.walk = {level_.data(), live_.data.get(), stack_.data.get()};
    compiler_.order = {order_.data.get(), level_end_.data.get()};
    compiler_.slots = {slot_.data(), last_reader_.data.get(), ending_.data.get(),
                       following_.data.get(), unused_.data.get()};
  }

  bool write(const NodeRoles& roles, const CompiledGenome& genome, SchedulePart<T>& part) {
    const auto num_inputs = static_cast<int32_t>(p_.num_inputs);
    const T* const weight = p_.weight + links_.first_conn();
    int32_t* const out_source = part.source.data.get();
    T* const out_weight = part.weight.data.get();
    const LinkGroups& groups = links_.groups();
    const GenomeLink* const links = groups.links;
    const int32_t *const slots = compiler_.slots.slot, *const order = compiler_.order.order;
    const int64_t first_node = links_.first_node();
    int64_t edge = part.edges, at = part.nodes;
    for (int32_t k = 0; k < genome.num_live; ++k, ++at) {
      const int32_t node = order[k];
      const int64_t gene = first_node + node;
      const bool idle = roles.is_idle(node), adds = roles.only_adds(node);
      part.node_key.data[at] = p_.node_key[gene];
      part.bias.data[at] = idle ? T(0) : p_.bias[gene];
      part.response.data[at] = adds ? T(1) : p_.response[gene];
      part.activation.data[at] = roles.activation(node);
      part.aggregation.data[at] = roles.aggregation(node);
      part.slot.data[at] = slots[num_inputs + node];
      if (part.gene.size > 0) part.gene.data[at] = gene;
      // Some links at once: a loop that ends after few turns is one that the processor cannot
      // foresee. The next node overwrites what is too much.
      const int32_t begin = groups.begin(node), end = groups.end(node);
      for (int32_t e = begin; e < end; e += kSpare) {
        const int64_t to = edge + (e - begin);
        for (int32_t i = 0; i < kSpare; ++i) {
          out_source[to + i] = slots[links[e + i].source];
          out_weight[to + i] = weight[links[e + i].conn];
        }
      }
      edge += end - begin;
      part.edge_end.data[at] = edge;
      if (worker_.tires_after(end - begin + 1)) return false;
    }
    const int32_t* const level_end = compiler_.level_end(genome);
    int32_t* const out_end = part.level_end.data.get() + part.levels;
    for (int32_t l = 0; l < genome.num_levels; ++l) out_end[l] = level_end[l];
    part.levels += genome.num_levels;
    part.num_levels.data[part.genomes] = genome.num_levels;
    part.num_slots.data[part.genomes] = genome.num_slots;
    part.num_nodes.data[part.genomes++] = genome.num_live;
    part.nodes = at;
    part.edges = edge;
    return true;
  }

  const PopulationView<T>& p_;
  const CompileOptions options_;
  GenomeCompiler compiler_;
  int64_t room_ = -1;  // nodes
  LoneWorker worker_;
  GenomeLinks<T> links_;
  std::vector<int32_t> level_, slot_;  // by number; inputs stay as they are
  Buffer<LevelWalk::Visit> stack_;
  Buffer<int32_t> last_reader_, live_, order_, level_end_, ending_, following_, unused_;
};

}  // namespace evonet
