// How one genome becomes levels, all steps linear in its genes:
//   1. keys become local node numbers; enabled links are grouped by target, in link order;
//   2. one depth-first walk against the links, from the outputs, finds the nodes that matter and
//      gives each the length of its longest path from an input, or finds it behind a cycle;
//   3. nodes are sorted by (level, aggregation, activation, in-degree), so that neighbours do the
//      same work;
//   4. every node gets a slot, in that order, and links are written with the slots that they read.
// In networks with memory a link may act one step later. It then reads what the cell of its source
// remembers: one of the last slots. Without a link, a node of such a network is never
// evaluated and stays 0, as in neat-python: it becomes a node that adds up nothing.
// Workers append whole chunks of genomes to buffers of their own; the parts are then joined.
#include "native/compile_schedule.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "native/key_index.h"
#include "nodes/activations.h"
#include "nodes/aggregations.h"

namespace evonet {
namespace {

// The schedules of consecutive genomes, offsets counted from the part's start. Buffers
// have room for every gene; what pruning leaves unused is never touched.
template <class T>
struct Part {
  Buffer<int64_t> num_nodes, num_levels;  // per genome
  Buffer<int64_t> node_key, edge_end, gene;
  Buffer<T> bias, response, weight;
  Buffer<uint8_t> activation, aggregation;
  Buffer<int32_t> slot, source, level_end;
  int64_t genomes = 0, nodes = 0, edges = 0, levels = 0;  // filled so far

  Part() = default;
  Part(int64_t genomes, int64_t nodes, int64_t edges, bool genes)
      : num_nodes(genomes),
        num_levels(genomes),
        node_key(nodes),
        edge_end(nodes),
        gene(genes ? nodes : 0),
        bias(nodes),
        response(nodes),
        weight(edges),
        activation(nodes),
        aggregation(nodes),
        slot(nodes),
        source(edges),
        level_end(nodes) {}
};

// Numbers a genome's inputs 0..I-1, its nodes from I on and what they remember behind them, so that
// a link's source needs no case for inputs.
template <class T>
class GenomeCompiler {
 public:
  GenomeCompiler(const PopulationView<T>& population, Wiring wiring)
      : p_(population), wiring_(wiring), num_inputs_(static_cast<int32_t>(population.num_inputs)) {
    level_.assign(num_inputs_, 0);
    slot_.resize(num_inputs_);
    for (int32_t i = 0; i < num_inputs_; ++i) slot_[i] = i;
  }

  enum Outcome { kAcyclic, kHasCycle, kInterrupted, kBad };

  // Appends genome g to the part; output_slot has room for num_outputs. A cycle counts if the
  // outputs need a node on or behind it. A genome that makes no sense is kBad, and ends the part.
  Outcome run(int64_t g, Part<T>& part, int32_t* output_slot, Interrupt& interrupt) {
    interrupt_ = &interrupt;
    first_node_ = p_.node_start[g];
    first_conn_ = p_.conn_start[g];
    num_nodes_ = static_cast<int32_t>(p_.node_start[g + 1] - first_node_);
    num_conns_ = static_cast<int32_t>(p_.conn_start[g + 1] - first_conn_);
    acyclic_ = true;
    makes_sense_ = true;
    const bool finished =
        group_links_by_target() && find_levels() && sort_nodes(part) && write(part, output_slot);
    return !makes_sense_ ? kBad : !finished ? kInterrupted : acyclic_ ? kAcyclic : kHasCycle;
  }

 private:
  static constexpr int32_t kUnseen = -1, kOpen = -2, kCyclic = -3;

  struct Link {
    int32_t source;  // input or node number
    int32_t conn;
  };

  struct Visit {
    int32_t node, level, next_link;
  };

  struct Ordered {
    uint64_t work;
    int32_t node;

    bool operator<(const Ordered& other) const {
      return work != other.work ? work < other.work : node < other.node;
    }
  };

  // Calls body(begin, end) for pieces of [0, count). Returns false if it was interrupted, as all
  // steps do.
  template <class Body>
  bool in_pieces(int64_t count, Body body) {
    for (int64_t begin = 0; begin < count; begin += kPiece) {
      if (begin > 0 && interrupt_->requested()) return false;
      body(static_cast<int32_t>(begin), static_cast<int32_t>(std::min(count, begin + kPiece)));
    }
    return true;
  }

  bool group_links_by_target() {
    const int64_t* const source = p_.source + first_conn_;
    const int64_t* const target = p_.target + first_conn_;
    const bool* const enabled = p_.enabled + first_conn_;
    const int32_t* const rank = p_.rank + first_conn_;
    const int64_t* const keys = p_.node_key + first_node_;
    if (!index_.build(keys, num_nodes_)) return makes_sense_ = false;
    // The number of the node with a key, or -1.
    const auto number_of = [&](int64_t key) {
      const int32_t number = index_[key];
      const bool is_there =
          static_cast<uint32_t>(number) < static_cast<uint32_t>(num_nodes_) && keys[number] == key;
      return is_there ? number : -1;
    };
    reserve(target_, num_conns_);
    reserve(links_, num_conns_);
    link_start_.assign(num_nodes_ + 1, 0);
    int32_t* const number_of_target = target_.data.get();
    Link* const links = links_.data.get();
    bool in_order = true;
    const bool counted = in_pieces(num_conns_, [&](int32_t begin, int32_t end) {
      for (int32_t i = begin; i < end; ++i) {
        const int32_t number = number_of_target[i] = number_of(target[i]);
        makes_sense_ &= number >= 0;
        link_start_[number + 1] += enabled[i];
        in_order &= rank[i] == i;
      }
    });
    if (!counted || !makes_sense_) return false;
    if (!in_order && !order_by_rank(rank)) return false;
    const int32_t* const by_rank = by_rank_.data.get();
    for (int32_t k = 0; k < num_nodes_; ++k) link_start_[k + 1] += link_start_[k];
    cursor_.assign(link_start_.begin(), link_start_.end());
    const bool finished = in_pieces(num_conns_, [&](int32_t begin, int32_t end) {
      for (int32_t r = begin; r < end; ++r) {
        const int32_t i = in_order ? r : by_rank[r];
        if (!enabled[i]) continue;
        const int64_t key = source[i];
        const int32_t node = key < 0 ? -1 : number_of(key);
        makes_sense_ &= key < 0 ? key >= -int64_t{num_inputs_} : node >= 0;
        const int32_t number = static_cast<int32_t>(key < 0 ? -1 - key : num_inputs_ + node);
        links[cursor_[number_of_target[i]]++] = {number, i};
      }
    });
    return finished && makes_sense_;
  }

  // False if it was interrupted, or if ranks are not 0, 1, ... in some order.
  bool order_by_rank(const int32_t* rank) {
    reserve(by_rank_, num_conns_);
    int32_t* const by_rank = by_rank_.data.get();
    std::fill(by_rank, by_rank + num_conns_, -1);
    const bool finished = in_pieces(num_conns_, [&](int32_t begin, int32_t end) {
      for (int32_t i = begin; i < end; ++i) {
        const bool fits = static_cast<uint32_t>(rank[i]) < static_cast<uint32_t>(num_conns_);
        makes_sense_ &= fits && by_rank[rank[i]] < 0;
        if (fits) by_rank[rank[i]] = i;
      }
    });
    return finished && makes_sense_;
  }

  // A node still open when it is met again closes a cycle; whatever reads a cyclic node is cyclic.
  bool find_levels() {
    level_.resize(num_inputs_);
    level_.resize(num_inputs_ + num_nodes_, kUnseen);
    int32_t* const level = level_.data();
    Link* const links = links_.data.get();
    const bool all_later = wiring_ == kNextStep || wiring_ == kSpikes;
    int64_t patience = kPiece;
    live_.clear();
    stack_.clear();
    for (int32_t output = 0; output < p_.num_outputs; ++output) {
      if (level[num_inputs_ + output] != kUnseen) continue;
      Visit visit = open(output);
      for (;;) {
        if (--patience < 0) {
          patience = kPiece;
          if (interrupt_->requested()) return false;
        }
        const int32_t end = link_start_[visit.node + 1];
        bool descend = false;
        while (visit.next_link < end) {
          Link& link = links[visit.next_link++];
          const int32_t source = link.source;
          if (all_later && source >= num_inputs_) link.source += num_nodes_;
          if (level[source] >= 0) {
            visit.level = std::max(visit.level, level[source] + 1);
          } else if (level[source] == kUnseen) {
            stack_.push_back(visit);
            visit = open(source - num_inputs_);
            descend = true;
            break;
          } else if (wiring_ == kLevels) {
            visit.level = kCyclicLevel;
          } else if (!all_later) {
            link.source += num_nodes_;
          }
        }
        if (descend) continue;
        if (all_later) visit.level = 0;
        if (visit.level >= kCyclicLevel) {
          level[num_inputs_ + visit.node] = kCyclic;
          acyclic_ = false;
        } else {
          level[num_inputs_ + visit.node] = visit.level;
          live_.push_back(visit.node);
        }
        if (stack_.empty()) break;
        const int32_t read = visit.level;
        visit = stack_.back();
        stack_.pop_back();
        visit.level = std::max(visit.level, std::min(read, kCyclicLevel - 1) + 1);
      }
    }
    return true;
  }

  // Whether it is never evaluated and stays 0.
  bool is_idle(int32_t node) const {
    return wiring_ == kNextStep && link_start_[node] == link_start_[node + 1];
  }

  bool only_adds(int32_t node) const { return wiring_ == kSpikes || is_idle(node); }

  uint8_t activation(int32_t node) const {
    return only_adds(node) ? uint8_t{ACT_IDENTITY} : p_.activation[first_node_ + node];
  }

  uint8_t aggregation(int32_t node) const {
    return only_adds(node) ? uint8_t{AGG_SUM} : p_.aggregation[first_node_ + node];
  }

  Visit open(int32_t node) {
    level_[num_inputs_ + node] = kOpen;
    return {node, 0, link_start_[node]};
  }

  bool sort_nodes(Part<T>& part) {
    int32_t deepest = -1;
    for (int32_t node : live_) deepest = std::max(deepest, level_[num_inputs_ + node]);
    level_count_.assign(deepest + 2, 0);
    for (int32_t node : live_) ++level_count_[level_[num_inputs_ + node] + 1];
    for (int32_t l = 0; l <= deepest; ++l) level_count_[l + 1] += level_count_[l];
    reserve(order_, static_cast<int32_t>(live_.size()));
    for (int32_t node : live_) {
      const uint64_t function = (uint64_t{aggregation(node)} << 8) | activation(node);
      const uint64_t degree = static_cast<uint32_t>(link_start_[node + 1] - link_start_[node]);
      order_[level_count_[level_[num_inputs_ + node]]++] = {(function << 32) | degree, node};
    }
    const int64_t first_level = part.levels;
    for (int32_t l = 0, begin = 0; l <= deepest; begin = level_count_[l++]) {
      if (level_count_[l] == begin) continue;  // only the first level, of nodes without links
      if (!sort_level(begin, level_count_[l])) return false;
      part.level_end.data[part.levels++] = level_count_[l];
    }
    part.num_levels.data[part.genomes] = part.levels - first_level;
    return true;
  }

  // A very wide level is sorted in pieces, which are then merged.
  bool sort_level(int64_t begin, int64_t end) {
    const auto first = order_.begin() + begin;
    const int64_t count = end - begin;
    const bool sorted =
        in_pieces(count, [&](int32_t from, int32_t to) { std::sort(first + from, first + to); });
    if (!sorted) return false;
    for (int64_t width = kPiece; width < count; width *= 2) {
      for (int64_t from = 0; from + width < count; from += 2 * width) {
        if (interrupt_->requested()) return false;
        std::inplace_merge(first + from, first + from + width,
                           first + std::min(count, from + 2 * width));
      }
    }
    return true;
  }

  bool write(Part<T>& part, int32_t* output_slot) {
    const int32_t count = static_cast<int32_t>(live_.size());
    slot_.resize(num_inputs_ + 2 * num_nodes_);
    for (int32_t k = 0; k < count; ++k) {
      const int32_t number = num_inputs_ + order_[k].node;
      slot_[number] = part.slot.data[part.nodes + k] = num_inputs_ + k;
      slot_[number + num_nodes_] = num_inputs_ + count + k;
    }
    const T* const weight = p_.weight + first_conn_;
    int32_t* const out_source = part.source.data.get();
    T* const out_weight = part.weight.data.get();
    const Link* const links = links_.data.get();
    int64_t edge = part.edges, at = part.nodes, patience = kPiece;
    for (int32_t k = 0; k < count; ++k, ++at) {
      const int32_t node = order_[k].node;
      const int64_t gene = first_node_ + node;
      part.node_key.data[at] = p_.node_key[gene];
      part.bias.data[at] = is_idle(node) ? T(0) : p_.bias[gene];
      part.response.data[at] = is_idle(node) || wiring_ == kSpikes ? T(1) : p_.response[gene];
      part.activation.data[at] = activation(node);
      part.aggregation.data[at] = aggregation(node);
      if (part.gene.size > 0) part.gene.data[at] = gene;
      const int32_t end = link_start_[node + 1];
      patience -= end - link_start_[node] + 1;
      for (int32_t e = link_start_[node]; e < end; ++e, ++edge) {
        out_source[edge] = slot_[links[e].source];
        out_weight[edge] = weight[links[e].conn];
      }
      part.edge_end.data[at] = edge;
      if (patience < 0) {
        patience = kPiece;
        if (interrupt_->requested()) return false;
      }
    }
    for (int64_t o = 0; o < p_.num_outputs; ++o) {
      output_slot[o] = level_[num_inputs_ + o] == kCyclic ? -1 : slot_[num_inputs_ + o];
    }
    part.num_nodes.data[part.genomes++] = count;
    part.nodes = at;
    part.edges = edge;
    return true;
  }

  template <class E>
  static void reserve(std::vector<E>& v, int32_t size) {
    if (v.size() < static_cast<size_t>(size)) v.resize(size);
  }

  template <class E>
  static void reserve(Buffer<E>& b, int64_t size) {
    if (b.size < size) b = Buffer<E>(std::max(size, 2 * b.size));
  }

  static constexpr int32_t kCyclicLevel = 0x7fffffff;  // deeper than any node can be
  static constexpr int64_t kPiece = 1 << 16;           // genes between two looks at the interrupt

  const PopulationView<T>& p_;
  const Wiring wiring_;
  const int32_t num_inputs_;
  int64_t first_node_ = 0, first_conn_ = 0;
  int32_t num_nodes_ = 0, num_conns_ = 0;
  Interrupt* interrupt_ = nullptr;
  bool acyclic_ = true, makes_sense_ = true;
  KeyIndex index_;
  Buffer<Link> links_;                // by target, in link order
  Buffer<int32_t> target_, by_rank_;  // by connection
  std::vector<int32_t> link_start_, cursor_;
  std::vector<int32_t> level_, slot_;  // by input or node number
  std::vector<int32_t> live_, level_count_;
  std::vector<Visit> stack_;
  std::vector<Ordered> order_;
};

// Genomes [begin, end) of equal cost, for chunk `index` of `count`.
template <class T>
int64_t chunk_begin(const PopulationView<T>& p, int64_t index, int64_t count) {
  const auto cost = [&p](int64_t g) { return p.conn_start[g] + p.node_start[g] + g; };
  const int64_t total = cost(p.num_genomes);
  const double wanted = static_cast<double>(total) * static_cast<double>(index) / count;
  int64_t low = 0, high = p.num_genomes;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (static_cast<double>(cost(middle)) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

template <class T>
bool compile_schedule(const PopulationView<T>& p, Wiring wiring, int num_states, int threads,
                      const Interrupt::Poll& poll, CompiledSchedule<T>& out) {
  threads = usable_threads(threads);
  const int64_t genes = p.node_start[p.num_genomes] + p.conn_start[p.num_genomes];
  const int64_t num_parts =
      std::max<int64_t>(1, std::min(p.num_genomes, std::min(genes / 20000, 64 * int64_t{threads})));
  threads = static_cast<int>(std::min<int64_t>(threads, num_parts));
  std::vector<Part<T>> parts(num_parts);
  std::vector<GenomeCompiler<T>> compilers;
  for (int i = 0; i < threads; ++i) compilers.emplace_back(p, wiring);
  std::atomic<int64_t> first_cyclic{p.num_genomes}, first_bad{p.num_genomes};
  const auto note = [](std::atomic<int64_t>& first, int64_t g) {
    int64_t known = first.load();
    while (g < known && !first.compare_exchange_weak(known, g)) {
    }
  };
  out.output_slot = Buffer<int32_t>(p.num_genomes * p.num_outputs);

  const bool finished = parallel_for(
      threads, num_parts,
      [&](int worker, int64_t index, Interrupt& interrupt) {
        const int64_t begin = chunk_begin(p, index, num_parts);
        const int64_t end = chunk_begin(p, index + 1, num_parts);
        Part<T>& part = parts[index] =
            Part<T>(end - begin, p.node_start[end] - p.node_start[begin],
                    p.conn_start[end] - p.conn_start[begin], wiring != kLevels);
        for (int64_t g = begin; g < end; ++g) {
          if ((g & 63) == 63 && interrupt.requested()) return;
          const auto outcome = compilers[worker].run(
              g, part, out.output_slot.data.get() + g * p.num_outputs, interrupt);
          if (outcome == GenomeCompiler<T>::kInterrupted) return;
          if (outcome == GenomeCompiler<T>::kHasCycle) note(first_cyclic, g);
          if (outcome == GenomeCompiler<T>::kBad) return note(first_bad, g);
        }
      },
      poll);
  if (!finished) return false;
  if (first_bad < p.num_genomes) {
    out.bad_genome = first_bad;
    return true;
  }
  if (first_cyclic < p.num_genomes) out.cyclic_genome = first_cyclic;

  struct Offsets {
    int64_t genome = 0, node = 0, edge = 0, level = 0;
  };
  std::vector<Offsets> at(num_parts + 1);
  for (int64_t i = 0; i < num_parts; ++i) {
    at[i + 1] = {at[i].genome + parts[i].genomes, at[i].node + parts[i].nodes,
                 at[i].edge + parts[i].edges, at[i].level + parts[i].levels};
  }
  const Offsets total = at[num_parts];
  out.node_start = Buffer<int64_t>(p.num_genomes + 1);
  out.level_start = Buffer<int64_t>(p.num_genomes + 1);
  out.node_key = Buffer<int64_t>(total.node);
  out.gene = Buffer<int64_t>(wiring == kLevels ? 0 : total.node);
  out.edge_start = Buffer<int64_t>(total.node + 1);
  out.bias = Buffer<T>(total.node);
  out.response = Buffer<T>(total.node);
  out.activation = Buffer<uint8_t>(total.node);
  out.aggregation = Buffer<uint8_t>(total.node);
  out.slot = Buffer<int32_t>(total.node);
  out.num_slots = Buffer<int64_t>(p.num_genomes);
  out.source = Buffer<int32_t>(total.edge);
  out.weight = Buffer<T>(total.edge);
  out.level_end = Buffer<int32_t>(total.level);
  out.node_start.data[0] = out.level_start.data[0] = out.edge_start.data[0] = 0;

  return parallel_for(
      threads, num_parts,
      [&](int, int64_t index, Interrupt& interrupt) {
        Part<T>& part = parts[index];
        const Offsets base = at[index];
        const auto join = [&](auto& to, int64_t begin, const auto& from, int64_t count) {
          constexpr int64_t kPiece = 1 << 20;
          for (int64_t i = 0; i < count && !interrupt.requested(); i += kPiece) {
            const auto first = from.data.get() + i;
            std::copy(first, first + std::min(kPiece, count - i), to.data.get() + begin + i);
          }
        };
        join(out.node_key, base.node, part.node_key, part.nodes);
        join(out.gene, base.node, part.gene, wiring == kLevels ? 0 : part.nodes);
        join(out.bias, base.node, part.bias, part.nodes);
        join(out.response, base.node, part.response, part.nodes);
        join(out.activation, base.node, part.activation, part.nodes);
        join(out.aggregation, base.node, part.aggregation, part.nodes);
        join(out.slot, base.node, part.slot, part.nodes);
        join(out.source, base.edge, part.source, part.edges);
        join(out.weight, base.edge, part.weight, part.edges);
        join(out.level_end, base.level, part.level_end, part.levels);
        for (int64_t i = 0; i < part.nodes; ++i) {
          out.edge_start.data[base.node + i + 1] = base.edge + part.edge_end.data[i];
        }
        int64_t node = base.node, level = base.level;
        for (int64_t i = 0; i < part.genomes; ++i) {
          out.node_start.data[base.genome + i + 1] = node += part.num_nodes.data[i];
          out.num_slots.data[base.genome + i] =
              p.num_inputs + (1 + num_states) * part.num_nodes.data[i];
          out.level_start.data[base.genome + i + 1] = level += part.num_levels.data[i];
        }
        part = Part<T>();
      },
      poll);
}

template bool compile_schedule(const PopulationView<float>&, Wiring, int, int,
                               const Interrupt::Poll&, CompiledSchedule<float>&);
template bool compile_schedule(const PopulationView<double>&, Wiring, int, int,
                               const Interrupt::Poll&, CompiledSchedule<double>&);

}  // namespace evonet
