// standard_set.h: any number of genomes to measure others against, in groups of kStandards.
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
    for (size_t begin = 0; begin < genomes.size(); begin += kStandards) {
      const size_t end = std::min(genomes.size(), begin + kStandards);
      groups_.emplace_back(genomes.data() + begin, genomes.data() + end, kernels);
    }
  }

  // How many numbers measure() writes: one per standard, rounded up to whole groups.
  size_t num_distances() const { return groups_.size() * kStandards; }

  void measure(const Genome<T>& genome, const DistanceRules<T>& rules, int* words,
               T* distances) const {
    for (const Group& group : groups_) {
      kernels_.measure(group.standards, genome, rules, words, distances);
      distances += kStandards;
    }
  }

 private:
  struct Dictionary {
    std::unique_ptr<int[]> slots;
    std::unique_ptr<long long[]> words;
    std::unique_ptr<T[]> rows;

    GeneDictionary<T> make(int most_words, int attributes) {
      const int bits = table_bits(most_words);
      const size_t num_slots = size_t{1} << bits;
      slots.reset(new int[num_slots]);
      words.reset(new long long[2 * static_cast<size_t>(most_words)]);
      rows.reset(new T[static_cast<size_t>(most_words) * attributes * kStandards]);
      std::fill(slots.get(), slots.get() + num_slots, -1);
      return {0, bits, slots.get(), words.get(), words.get() + most_words, rows.get()};
    }
  };

  struct Group {
    Dictionary nodes, links;
    std::unique_ptr<long long[]> numbers;
    Standards<T> standards{};

    Group(const Genome<T>* begin, const Genome<T>* end, const EvolutionKernels<T>& kernels) {
      int num_nodes = 0, num_conns = 0;
      for (const Genome<T>* genome = begin; genome < end; ++genome) {
        num_nodes += genome->num_nodes;
        num_conns += genome->num_conns;
      }
      standards.nodes = nodes.make(num_nodes, NODE_ROWS);
      standards.links = links.make(num_conns, LINK_ROWS);
      numbers.reset(new long long[static_cast<size_t>(num_conns) * kStandards]);
      standards.numbers = numbers.get();
      for (const Genome<T>* genome = begin; genome < end; ++genome) {
        kernels.add_standard(standards, *genome);
      }
    }
  };

  const EvolutionKernels<T>& kernels_;
  std::vector<Group> groups_;
};

}  // namespace evonet
