// evolution.h: breeding and genetic distance, as each instruction set's translation unit offers
// them to the rest.
#pragma once

#include <cstdint>

#include "genetics/first_plan.h"
#include "genetics/gene_rules.h"
#include "genetics/genome_view.h"
#include "native/standard_section.h"

namespace evonet {

// Packed genomes that are only read.
template <class T>
struct GenomesView {
  int64_t num_genomes;
  int num_inputs, num_outputs;
  ConstGenes<T> genes;
  const int64_t* node_start;
  const int64_t* conn_start;

  Genome<T> operator[](int64_t g) const { return genome_at(genes, node_start, conn_start, g); }
};

struct RandomSource {
  uint64_t seed;
  uint32_t generation;
};

template <class T>
struct EvolutionKernels {
  int64_t (*cycle_scratch)(int64_t num_nodes, int64_t num_conns);
  void (*breed)(Child<T>& child, const Genome<T>& fitter, const Genome<T>& other, bool same_parent,
                const GenomeRules<T>& rules, int num_inputs, int num_outputs, RandomSource random,
                uint32_t index);
  void (*first)(Child<T>& child, const FirstPlan& plan, const GenomeRules<T>& rules,
                RandomSource random, uint32_t index);
  void (*add_standard)(StandardSection<T>& section, int group, const Genome<T>& genome);
  // The distance of a genome to each standard, a group after another; `words` has room for two
  // numbers per gene of the genome.
  void (*measure)(const StandardSection<T>& section, const Genome<T>& genome,
                  const DistanceRules<T>& rules, int* words, T* distances);
  // Whether any of the numbers is below its limit.
  bool (*any_below)(const T* numbers, const T* limits, int64_t count);
  // The position of the first of the smallest numbers, or -1 if none is below the limit.
  int64_t (*first_least)(const T* numbers, int64_t count, T limit);
};

}  // namespace evonet
