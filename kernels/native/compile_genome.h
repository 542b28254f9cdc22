// How one genome becomes levels, all steps linear in its genes:
//   1. keys become local node numbers; enabled links are grouped by target (genome_links.h);
//   2. a walk from the outputs finds the nodes that matter and their levels (level_walk.h);
//   3. nodes are sorted by (level, aggregation, activation, in-degree), so that neighbours do the
//      same work;
//   4. every node gets a slot (slot_lifetimes.h), and links are written with the slots that they
//      read.
// In networks with memory a link may act one step later. It then reads what the cell of its source
// remembers: one of the last slots. Without a link, a node of such a network is never
// evaluated and stays 0, as in neat-python: it becomes a node that adds up nothing.
#pragma once

#include "native/genome_links.h"
#include "native/level_walk.h"
#include "native/schedule_part.h"
#include "native/slot_lifetimes.h"
#include "nodes/function_ids.h"

namespace evonet {

template <class T>
class GenomeCompiler {
 public:
  GenomeCompiler(const PopulationView<T>& population, const CompileOptions& options)
      : p_(population),
        options_(options),
        wiring_(options.wiring),
        links_(population),
        walk_(static_cast<int32_t>(population.num_inputs),
              static_cast<int32_t>(population.num_outputs), wiring_),
        slots_(static_cast<int32_t>(population.num_inputs)) {}

  enum Outcome { kAcyclic, kHasCycle, kInterrupted, kBad };

  // Appends genome g to the part; output_slot has room for num_outputs. A cycle counts if the
  // outputs need a node on or behind it. A genome that makes no sense is kBad, and ends the part.
  Outcome run(int64_t g, SchedulePart<T>& part, int32_t* output_slot, Interrupt& interrupt) {
    interrupt_ = &interrupt;
    const bool finished = links_.group(g, interrupt) && walk_.run(links_, interrupt) &&
                          sort_nodes(part) && assign_slots(part) && write(part, output_slot);
    if (!links_.makes_sense()) return kBad;
    return !finished ? kInterrupted : walk_.acyclic() ? kAcyclic : kHasCycle;
  }

 private:
  static constexpr int32_t kSpare = GenomeLinks<T>::kSpareLinks;

  struct Ordered {
    uint64_t work;
    int32_t node;

    bool operator<(const Ordered& other) const {
      return work != other.work ? work < other.work : node < other.node;
    }
  };

  // Whether it is never evaluated and stays 0.
  bool is_idle(int32_t node) const {
    return wiring_ == kNextStep && links_.begin(node) == links_.end(node);
  }

  bool only_adds(int32_t node) const { return wiring_ == kSpikes || is_idle(node); }

  uint8_t activation(int32_t node) const {
    return only_adds(node) ? uint8_t{ACT_IDENTITY} : p_.activation[links_.first_node() + node];
  }

  uint8_t aggregation(int32_t node) const {
    return only_adds(node) ? uint8_t{AGG_SUM} : p_.aggregation[links_.first_node() + node];
  }

  bool sort_nodes(SchedulePart<T>& part) {
    const std::vector<int32_t>& live = walk_.live();
    int32_t deepest = -1;
    for (int32_t node : live) deepest = std::max(deepest, walk_.level(node));
    level_count_.assign(deepest + 2, 0);
    for (int32_t node : live) ++level_count_[walk_.level(node) + 1];
    for (int32_t l = 0; l <= deepest; ++l) level_count_[l + 1] += level_count_[l];
    if (order_.size() < live.size()) order_.resize(live.size());
    for (int32_t node : live) order_[level_count_[walk_.level(node)]++] = node;
    const int64_t first_level = part.levels;
    for (int32_t l = 0, begin = 0; l <= deepest; begin = level_count_[l++]) {
      if (level_count_[l] == begin) continue;  // only the first level, of nodes without links
      if (!sort_level(begin, level_count_[l])) return false;
      part.level_end.data[part.levels++] = level_count_[l];
    }
    part.num_levels.data[part.genomes] = part.levels - first_level;
    return true;
  }

  uint64_t work(int32_t node) const {
    const uint64_t function = (uint64_t{aggregation(node)} << 8) | activation(node);
    return (function << 32) | static_cast<uint32_t>(links_.end(node) - links_.begin(node));
  }

  bool sort_level(int64_t begin, int64_t end) {
    constexpr int64_t kFew = 12;
    if (end - begin > kFew) return sort_wide_level(begin, end);
    if (end - begin > 1) sort_few<kFew>(order_.data() + begin, static_cast<int>(end - begin));
    return true;
  }

  // Every node counts who comes before it: no branch that the processor would foresee wrongly.
  template <int kMost>
  void sort_few(int32_t* nodes, int count) const {
    Ordered found[kMost];
    for (int i = 0; i < count; ++i) found[i] = {work(nodes[i]), nodes[i]};
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
  bool sort_wide_level(int64_t begin, int64_t end) {
    const int64_t count = end - begin;
    if (static_cast<int64_t>(wide_.size()) < count) wide_.resize(count);
    const auto first = wide_.begin();
    for (int64_t i = 0; i < count; ++i) first[i] = {work(order_[begin + i]), order_[begin + i]};
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
    for (int64_t i = 0; i < count; ++i) order_[begin + i] = first[i].node;
    return true;
  }

  bool assign_slots(SchedulePart<T>& part) {
    const auto node = [this](int32_t k) { return order_[k]; };
    const auto levels = static_cast<int32_t>(part.num_levels.data[part.genomes]);
    bool finished = true;
    if (options_.reuse_slots && wiring_ == kLevels && options_.num_states == 0) {
      finished =
          slots_.reuse(links_, walk_, static_cast<int32_t>(p_.num_outputs),
                       part.level_end.data.get() + part.levels - levels, levels, node, *interrupt_);
    } else {
      slots_.keep_all(static_cast<int32_t>(walk_.live().size()), links_.num_nodes(),
                      options_.num_states, node);
    }
    part.num_slots.data[part.genomes] = slots_.num_slots();
    return finished;
  }

  bool write(SchedulePart<T>& part, int32_t* output_slot) {
    const auto count = static_cast<int32_t>(walk_.live().size());
    const auto num_inputs = static_cast<int32_t>(p_.num_inputs);
    const T* const weight = p_.weight + links_.first_conn();
    int32_t* const out_source = part.source.data.get();
    T* const out_weight = part.weight.data.get();
    const GenomeLink* const links = links_.data();
    const int32_t* const slots = slots_.data();
    const int64_t first_node = links_.first_node();
    int64_t edge = part.edges, at = part.nodes;
    Patience patience(*interrupt_);
    for (int32_t k = 0; k < count; ++k, ++at) {
      const int32_t node = order_[k];
      const int64_t gene = first_node + node;
      const bool idle = is_idle(node), adds = idle || wiring_ == kSpikes;
      part.node_key.data[at] = p_.node_key[gene];
      part.bias.data[at] = idle ? T(0) : p_.bias[gene];
      part.response.data[at] = adds ? T(1) : p_.response[gene];
      part.activation.data[at] = adds ? uint8_t{ACT_IDENTITY} : p_.activation[gene];
      part.aggregation.data[at] = adds ? uint8_t{AGG_SUM} : p_.aggregation[gene];
      part.slot.data[at] = slots[num_inputs + node];
      if (part.gene.size > 0) part.gene.data[at] = gene;
      // Some links at once: a loop that ends after few turns is one that the processor cannot
      // foresee. The next node overwrites what is too much.
      const int32_t begin = links_.begin(node), end = links_.end(node);
      for (int32_t e = begin; e < end; e += kSpare) {
        const int64_t to = edge + (e - begin);
        for (int32_t i = 0; i < kSpare; ++i) {
          out_source[to + i] = slots[links[e + i].source];
          out_weight[to + i] = weight[links[e + i].conn];
        }
      }
      edge += end - begin;
      part.edge_end.data[at] = edge;
      if (patience.ends_after(end - begin + 1)) return false;
    }
    for (int32_t o = 0; o < p_.num_outputs; ++o) {
      output_slot[o] = walk_.is_cyclic(o) ? -1 : slots_[num_inputs + o];
    }
    part.num_nodes.data[part.genomes++] = count;
    part.nodes = at;
    part.edges = edge;
    return true;
  }

  const PopulationView<T>& p_;
  const CompileOptions options_;
  const Wiring wiring_;
  Interrupt* interrupt_ = nullptr;
  GenomeLinks<T> links_;
  LevelWalk walk_;
  SlotLifetimes slots_;
  std::vector<int32_t> level_count_;
  std::vector<int32_t> order_;  // nodes as the schedule has them
  std::vector<Ordered> wide_;   // those of one level
};

}  // namespace evonet
