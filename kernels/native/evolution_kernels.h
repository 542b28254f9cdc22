// evolution_kernels.h: the portable operators behind evolution.h's function table.
#pragma once

#include "genetics/breeding.h"
#include "genetics/distance.h"
#include "genetics/first_genome.h"
#include "native/evolution.h"
#include "native/simd.h"

EVONET_NAMESPACE_BEGIN

template <class T>
void breed_one(Child<T>& child, const Genome<T>& fitter, const Genome<T>& other, bool same_parent,
               const GenomeRules<T>& rules, int num_inputs, int num_outputs, RandomSource random,
               uint32_t index) {
  breed(child, fitter, other, same_parent, rules, num_inputs, num_outputs,
        Draws{random.seed, random.generation, index});
}

template <class T>
void first_one(Child<T>& child, const FirstPlan& plan, const GenomeRules<T>& rules,
               RandomSource random, uint32_t index) {
  make_first_genome(child, plan, rules, Draws{random.seed, random.generation, index});
}

template <class T>
void add_standard_to(Standards<T>& standards, const Genome<T>& genome) {
  add_standard(standards, genome);
}

template <class T>
void measure(const Standards<T>& standards, const Genome<T>& genome, const DistanceRules<T>& rules,
             int* words, T* distances) {
  using V = Vector<T, kStandards>;
  int* const link_words = words + genome.num_nodes;
  look_up(standards, genome, words, link_words);
  for (int lane = 0; lane < standards.count; lane += kLanes<T, kStandards>) {
    store(distances + lane, distances_to<V>(standards, lane, genome, words, link_words, rules));
  }
}

inline int64_t cycle_scratch_of(int64_t num_nodes, int64_t num_conns) {
  return cycle_scratch(num_nodes, num_conns);
}

template <class T>
constexpr EvolutionKernels<T> kEvolution = {&cycle_scratch_of, &breed_one<T>, &first_one<T>,
                                            &add_standard_to<T>, &measure<T>};

EVONET_NAMESPACE_END
