// How one genome becomes levels, all steps linear in its genes:
//   1. keys become local node numbers; enabled links are grouped by target, in link order;
//   2. one depth-first walk against the links, from the outputs, finds the nodes that matter and
//      gives each the length of its longest path from an input, or finds it behind a cycle;
//   3. nodes are sorted by (level, aggregation, activation, in-degree), so that neighbours do the
//      same work;
//   4. links are written in that order, with the slot of each source.
// Workers append whole chunks of genomes to buffers of their own; the parts are then joined.
#include "native/compile_schedule.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

namespace evonet {
namespace {

// Maps the keys of one genome's nodes to 0..N-1: a table while keys are dense, else a hash.
class KeyIndex {
 public:
  void build(const int64_t* keys, int32_t count) {
    keys_ = keys;
    dense_ = count == 0 || keys[count - 1] < 4 * int64_t{count} + 256;
    if (dense_) {
      const size_t needed = count == 0 ? 0 : static_cast<size_t>(keys[count - 1]) + 1;
      if (slots_.size() < needed) slots_.resize(needed);
      for (int32_t i = 0; i < count; ++i) slots_[keys[i]] = i;
      return;
    }
    bits_ = 1;
    while ((int64_t{1} << bits_) < 2 * int64_t{count}) ++bits_;
    mask_ = (size_t{1} << bits_) - 1;
    if (slots_.size() <= mask_) slots_.resize(mask_ + 1);
    std::fill(slots_.begin(), slots_.begin() + mask_ + 1, -1);
    for (int32_t i = 0; i < count; ++i) {
      size_t slot = home(keys[i]);
      while (slots_[slot] >= 0) slot = (slot + 1) & mask_;
      slots_[slot] = i;
    }
  }

  int32_t operator[](int64_t key) const {
    if (dense_) return slots_[key];
    size_t slot = home(key);
    while (keys_[slots_[slot]] != key) slot = (slot + 1) & mask_;
    return slots_[slot];
  }

 private:
  size_t home(int64_t key) const {
    return (static_cast<uint64_t>(key) * 0x9E3779B97F4A7C15u) >> (64 - bits_);
  }

  const int64_t* keys_ = nullptr;
  std::vector<int32_t> slots_;
  size_t mask_ = 0;
  int bits_ = 1;
  bool dense_ = true;
};

// The schedules of consecutive genomes, offsets counted from the part's own beginning.
template <class T>
struct Part {
  std::vector<int64_t> num_nodes, num_levels;  // per genome
  std::vector<int64_t> node_key, edge_end;
  std::vector<T> bias, response, weight;
  std::vector<uint8_t> activation, aggregation;
  std::vector<int32_t> source, level_end;
};

template <class T>
class GenomeCompiler {
 public:
  // Appends genome g to the part; output_slot has room for num_outputs. Returns false if a node
  // that the outputs need lies on or behind a cycle.
  bool run(const PopulationView<T>& p, int64_t g, Part<T>& part, int32_t* output_slot) {
    num_nodes_ = static_cast<int32_t>(p.node_start[g + 1] - p.node_start[g]);
    num_conns_ = static_cast<int32_t>(p.conn_start[g + 1] - p.conn_start[g]);
    group_links_by_target(p, g);
    const bool acyclic = find_levels(static_cast<int32_t>(p.num_outputs));
    sort_nodes(p, g);
    write(p, g, part, output_slot);
    return acyclic;
  }

 private:
  static constexpr int32_t kUnseen = -1, kOpen = -2, kCyclic = -3;

  void group_links_by_target(const PopulationView<T>& p, int64_t g) {
    const int64_t first = p.conn_start[g];
    index_.build(p.node_key + p.node_start[g], num_nodes_);
    in_start_.assign(num_nodes_ + 1, 0);
    resize(target_, num_conns_);
    resize(link_source_, num_conns_);
    resize(link_, num_conns_);
    resize(by_rank_, num_conns_);
    for (int32_t i = 0; i < num_conns_; ++i) {
      by_rank_[p.rank[first + i]] = i;
      if (!p.enabled[first + i]) {
        target_[i] = -1;
        continue;
      }
      target_[i] = index_[p.target[first + i]];
      ++in_start_[target_[i] + 1];
    }
    for (int32_t i = 0; i < num_nodes_; ++i) in_start_[i + 1] += in_start_[i];
    cursor_.assign(in_start_.begin(), in_start_.end() - 1);
    for (int32_t r = 0; r < num_conns_; ++r) {
      const int32_t i = by_rank_[r];
      if (target_[i] < 0) continue;
      const int32_t at = cursor_[target_[i]]++;
      const int64_t key = p.source[first + i];
      link_source_[at] = key < 0 ? static_cast<int32_t>(key) : index_[key];
      link_[at] = i;
    }
  }

  // A node still open when it is met again closes a cycle; whatever reads a cyclic node is cyclic.
  bool find_levels(int32_t num_outputs) {
    level_.assign(num_nodes_, kUnseen);
    std::copy(in_start_.begin(), in_start_.end() - 1, cursor_.begin());
    live_.clear();
    stack_.clear();
    bool acyclic = true;
    for (int32_t output = 0; output < num_outputs; ++output) {
      if (level_[output] != kUnseen) continue;
      open(output);
      while (!stack_.empty()) {
        Visit& top = stack_.back();
        if (cursor_[top.node] == in_start_[top.node + 1]) {
          const Visit done = top;
          stack_.pop_back();
          level_[done.node] = done.level;
          if (done.level == kCyclic) {
            acyclic = false;
          } else {
            live_.push_back(done.node);
          }
          if (!stack_.empty()) stack_.back().read(done.level);
          continue;
        }
        const int32_t source = link_source_[cursor_[top.node]++];
        if (source < 0) {
          top.read(0);
        } else if (level_[source] == kUnseen) {
          open(source);
        } else {
          top.read(level_[source] == kOpen ? kCyclic : level_[source]);
        }
      }
    }
    return acyclic;
  }

  void open(int32_t node) {
    level_[node] = kOpen;
    stack_.push_back({node, 0});
  }

  void sort_nodes(const PopulationView<T>& p, int64_t g) {
    const int64_t first = p.node_start[g];
    int32_t deepest = -1;
    for (int32_t node : live_) deepest = std::max(deepest, level_[node]);
    level_count_.assign(deepest + 2, 0);
    for (int32_t node : live_) ++level_count_[level_[node] + 1];
    for (int32_t l = 0; l <= deepest; ++l) level_count_[l + 1] += level_count_[l];
    resize(order_, static_cast<int32_t>(live_.size()));
    for (int32_t node : live_) {
      const uint64_t function =
          (uint64_t{p.aggregation[first + node]} << 8) | p.activation[first + node];
      const uint64_t degree = static_cast<uint32_t>(in_start_[node + 1] - in_start_[node]);
      order_[level_count_[level_[node]]++] = {(function << 32) | degree, node};
    }
    level_end_.clear();
    for (int32_t l = 0, begin = 0; l <= deepest; begin = level_count_[l++]) {
      if (level_count_[l] == begin) continue;  // only the first level, of nodes without links
      std::sort(order_.begin() + begin, order_.begin() + level_count_[l]);
      level_end_.push_back(level_count_[l]);
    }
  }

  void write(const PopulationView<T>& p, int64_t g, Part<T>& part, int32_t* output_slot) {
    const int64_t first_node = p.node_start[g], first_conn = p.conn_start[g];
    const int32_t num_inputs = static_cast<int32_t>(p.num_inputs);
    const int32_t count = static_cast<int32_t>(live_.size());
    resize(slot_, num_nodes_);
    for (int32_t k = 0; k < count; ++k) slot_[order_[k].node] = num_inputs + k;
    for (int32_t k = 0; k < count; ++k) {
      const int32_t node = order_[k].node;
      const int64_t gene = first_node + node;
      part.node_key.push_back(p.node_key[gene]);
      part.bias.push_back(p.bias[gene]);
      part.response.push_back(p.response[gene]);
      part.activation.push_back(p.activation[gene]);
      part.aggregation.push_back(p.aggregation[gene]);
      const int32_t begin = in_start_[node], end = in_start_[node + 1];
      const size_t at = part.source.size();
      part.source.resize(at + (end - begin));
      part.weight.resize(at + (end - begin));
      for (int32_t e = begin; e < end; ++e) {
        const int32_t source = link_source_[e];
        part.source[at + (e - begin)] = source < 0 ? -1 - source : slot_[source];
        part.weight[at + (e - begin)] = p.weight[first_conn + link_[e]];
      }
      part.edge_end.push_back(static_cast<int64_t>(part.source.size()));
    }
    for (int64_t o = 0; o < p.num_outputs; ++o) {
      output_slot[o] = level_[o] == kCyclic ? -1 : slot_[o];
    }
    part.num_nodes.push_back(count);
    part.num_levels.push_back(static_cast<int64_t>(level_end_.size()));
    part.level_end.insert(part.level_end.end(), level_end_.begin(), level_end_.end());
  }

  struct Visit {
    int32_t node;
    int32_t level;  // so far

    void read(int32_t source_level) {
      if (level == kCyclic || source_level == kCyclic) {
        level = kCyclic;
      } else {
        level = std::max(level, source_level + 1);
      }
    }
  };

  struct Ordered {
    uint64_t work;
    int32_t node;

    bool operator<(const Ordered& other) const {
      return work != other.work ? work < other.work : node < other.node;
    }
  };

  template <class E>
  static void resize(std::vector<E>& v, int32_t size) {
    if (v.size() < static_cast<size_t>(size)) v.resize(size);
  }

  int32_t num_nodes_ = 0, num_conns_ = 0;
  KeyIndex index_;
  std::vector<int32_t> in_start_, cursor_, target_, link_source_, link_, by_rank_;
  std::vector<int32_t> level_, level_count_, level_end_, live_, slot_;
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

template <class E>
void copy_into(Buffer<E>& out, int64_t at, const std::vector<E>& from) {
  if (!from.empty()) std::memcpy(out.data.get() + at, from.data(), from.size() * sizeof(E));
}

}  // namespace

template <class T>
bool compile_schedule(const PopulationView<T>& p, int threads, const Interrupt::Poll& poll,
                      CompiledSchedule<T>& out) {
  if (threads <= 0) threads = available_threads();
  const int64_t genes = p.node_start[p.num_genomes] + p.conn_start[p.num_genomes];
  const int64_t num_parts =
      std::max<int64_t>(1, std::min(p.num_genomes, std::min<int64_t>(genes / 20000, 64 * threads)));
  std::vector<Part<T>> parts(num_parts);
  std::vector<GenomeCompiler<T>> compilers(threads);
  std::atomic<int64_t> first_cyclic{p.num_genomes};
  out.output_slot = Buffer<int32_t>(p.num_genomes * p.num_outputs);

  const bool finished = parallel_for(
      threads, num_parts,
      [&](int worker, int64_t index, Interrupt& interrupt) {
        Part<T>& part = parts[index];
        const int64_t begin = chunk_begin(p, index, num_parts);
        const int64_t end = chunk_begin(p, index + 1, num_parts);
        const int64_t nodes = p.node_start[end] - p.node_start[begin];
        const int64_t conns = p.conn_start[end] - p.conn_start[begin];
        part.node_key.reserve(nodes);
        part.edge_end.reserve(nodes);
        part.bias.reserve(nodes);
        part.response.reserve(nodes);
        part.activation.reserve(nodes);
        part.aggregation.reserve(nodes);
        part.source.reserve(conns);
        part.weight.reserve(conns);
        for (int64_t g = begin; g < end; ++g) {
          if ((g & 63) == 63 && interrupt.requested()) return;
          int32_t* slots = out.output_slot.data.get() + g * p.num_outputs;
          if (!compilers[worker].run(p, g, part, slots)) {
            int64_t known = first_cyclic.load();
            while (g < known && !first_cyclic.compare_exchange_weak(known, g)) {
            }
          }
        }
      },
      poll);
  if (!finished) return false;
  if (first_cyclic < p.num_genomes) out.cyclic_genome = first_cyclic;

  struct Offsets {
    int64_t genome = 0, node = 0, edge = 0, level = 0;
  };
  std::vector<Offsets> at(num_parts + 1);
  for (int64_t i = 0; i < num_parts; ++i) {
    at[i + 1].genome = at[i].genome + static_cast<int64_t>(parts[i].num_nodes.size());
    at[i + 1].node = at[i].node + static_cast<int64_t>(parts[i].node_key.size());
    at[i + 1].edge = at[i].edge + static_cast<int64_t>(parts[i].source.size());
    at[i + 1].level = at[i].level + static_cast<int64_t>(parts[i].level_end.size());
  }
  const Offsets total = at[num_parts];
  out.node_start = Buffer<int64_t>(p.num_genomes + 1);
  out.level_start = Buffer<int64_t>(p.num_genomes + 1);
  out.node_key = Buffer<int64_t>(total.node);
  out.edge_start = Buffer<int64_t>(total.node + 1);
  out.bias = Buffer<T>(total.node);
  out.response = Buffer<T>(total.node);
  out.activation = Buffer<uint8_t>(total.node);
  out.aggregation = Buffer<uint8_t>(total.node);
  out.source = Buffer<int32_t>(total.edge);
  out.weight = Buffer<T>(total.edge);
  out.level_end = Buffer<int32_t>(total.level);
  out.node_start.data[0] = out.level_start.data[0] = out.edge_start.data[0] = 0;

  return parallel_for(
      threads, num_parts,
      [&](int, int64_t index, Interrupt&) {
        Part<T>& part = parts[index];
        const Offsets base = at[index];
        copy_into(out.node_key, base.node, part.node_key);
        copy_into(out.bias, base.node, part.bias);
        copy_into(out.response, base.node, part.response);
        copy_into(out.activation, base.node, part.activation);
        copy_into(out.aggregation, base.node, part.aggregation);
        copy_into(out.source, base.edge, part.source);
        copy_into(out.weight, base.edge, part.weight);
        copy_into(out.level_end, base.level, part.level_end);
        for (size_t i = 0; i < part.edge_end.size(); ++i) {
          out.edge_start.data[base.node + i + 1] = base.edge + part.edge_end[i];
        }
        int64_t node = base.node, level = base.level;
        for (size_t i = 0; i < part.num_nodes.size(); ++i) {
          out.node_start.data[base.genome + i + 1] = node += part.num_nodes[i];
          out.level_start.data[base.genome + i + 1] = level += part.num_levels[i];
        }
        part = Part<T>();
      },
      poll);
}

template bool compile_schedule(const PopulationView<float>&, int, const Interrupt::Poll&,
                               CompiledSchedule<float>&);
template bool compile_schedule(const PopulationView<double>&, int, const Interrupt::Poll&,
                               CompiledSchedule<double>&);

}  // namespace evonet
