// evolution_kernels.h: the portable operators behind evolution.h's function table.
#pragma once

#include "breeding.h"
#include "distance.h"
#include "first_genome.h"
#include "native/evolution.h"

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
void build_index_of(const Standard<T>& standard) {
  build_index(standard);
}

template <class T>
T distance_of(const Standard<T>& a, const Genome<T>& b, const DistanceRules<T>& rules, T limit) {
  return distance(a, b, rules, limit);
}

inline int index_slots_of(int num_conns) { return index_slots(num_conns); }

inline int64_t cycle_scratch_of(int64_t num_nodes, int64_t num_conns) {
  return cycle_scratch(num_nodes, num_conns);
}

template <class T>
constexpr EvolutionKernels<T> kEvolution = {&cycle_scratch_of, &breed_one<T>,      &first_one<T>,
                                            &index_slots_of,   &build_index_of<T>, &distance_of<T>};

EVONET_NAMESPACE_END
