// standard_set.h: any number of genomes to measure others against, in groups of kStandards, some
// groups to a section.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "native/evolution.h"
#include "numerics/key_table.h"

namespace evonet {

template <class T>
class StandardSet {
 public:
  StandardSet(const std::vector<Genome<T>>& genomes, const EvolutionKernels<T>& kernels)
      : kernels_(kernels) {
    for (size_t begin = 0; begin < genomes.size();) {
      size_t end = begin;
      int64_t genes = 0, num_groups = 0;
      while (end < genomes.size() && num_groups < kMostGroups) {
        const size_t next = std::min(genomes.size(), end + kStandards);
        for (size_t i = end; i < next; ++i) genes += genomes[i].num_nodes + genomes[i].num_conns;
        if (num_groups > 0 && genes * (num_groups + 1) > kMostRows) break;
        end = next;
        ++num_groups;
      }
      sections_.emplace_back(genomes.data() + begin, genomes.data() + end, kernels);
      num_distances_ += num_groups * kStandards;
      begin = end;
    }
  }

  // How many numbers measure() writes: one per standard, rounded up to whole groups.
  size_t num_distances() const { return num_distances_; }

  // `words` has room for two numbers per gene of the genome.
  void measure(const Genome<T>& genome, const DistanceRules<T>& rules, int* words,
               T* distances) const {
    for (const Section& section : sections_) {
      kernels_.measure(section.view, genome, rules, words, distances);
      distances += section.view.num_groups * kStandards;
    }
  }

 private:
  // Where standards have nothing in common, each word has a row in one group and none in the
  // others: more groups would take memory that grows with their square.
  static constexpr int64_t kMostGroups = 16, kMostRows = 1 << 22;

  struct Words {
    std::unique_ptr<int[]> slots, row;
    std::unique_ptr<long long[]> keys;

    GeneDictionary<T> make(int most_words, int num_groups) {
      const int bits = table_bits(most_words);
      const size_t num_slots = size_t{1} << bits, most = most_words;
      slots.reset(new int[num_slots]);
      row.reset(new int[most * num_groups]);
      keys.reset(new long long[2 * most]);
      std::fill(slots.get(), slots.get() + num_slots, -1);
      return {0, bits, slots.get(), keys.get(), keys.get() + most, nullptr};
    }
  };

  struct Rows {
    std::unique_ptr<T[]> node_rows, link_rows;
    std::unique_ptr<long long[]> numbers;
    std::unique_ptr<SharedNode<T>[]> shared;

    StandardGroup<T> make(size_t num_nodes, size_t num_conns) {
      StandardGroup<T> group{};
      node_rows.reset(new T[num_nodes * NODE_ROWS * kStandards]);
      link_rows.reset(new T[num_conns * LINK_ROWS * kStandards]);
      numbers.reset(new long long[num_conns * kStandards]);
      shared.reset(new SharedNode<T>[num_nodes]);
      group.standards.nodes.rows = node_rows.get();
      group.standards.links.rows = link_rows.get();
      group.standards.numbers = numbers.get();
      group.shared = shared.get();
      return group;
    }
  };

  struct Section {
    Words nodes, links;
    std::vector<Rows> rows;
    std::vector<StandardGroup<T>> groups;
    StandardSection<T> view{};

    Section(const Genome<T>* begin, const Genome<T>* end, const EvolutionKernels<T>& kernels) {
      int all_nodes = 0, all_conns = 0;
      for (const Genome<T>* first = begin; first < end; first += kStandards) {
        int num_nodes = 0, num_conns = 0;
        for (const Genome<T>* genome = first; genome < std::min(end, first + kStandards);
             ++genome) {
          num_nodes += genome->num_nodes;
          num_conns += genome->num_conns;
        }
        rows.emplace_back();
        groups.push_back(rows.back().make(num_nodes, num_conns));
        all_nodes += num_nodes;
        all_conns += num_conns;
      }
      view.num_groups = static_cast<int>(groups.size());
      view.nodes = nodes.make(all_nodes, view.num_groups);
      view.links = links.make(all_conns, view.num_groups);
      view.node_row = nodes.row.get();
      view.link_row = links.row.get();
      view.groups = groups.data();
      for (const Genome<T>* genome = begin; genome < end; ++genome) {
        kernels.add_standard(view, static_cast<int>((genome - begin) / kStandards), *genome);
      }
    }
    Section(Section&&) = default;
  };

  const EvolutionKernels<T>& kernels_;
  std::vector<Section> sections_;
  size_t num_distances_ = 0;
};

}  // namespace evonet
