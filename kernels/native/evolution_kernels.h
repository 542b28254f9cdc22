// evolution_kernels.h: the portable operators behind evolution.h's function table.
#pragma once

#include "genetics/breeding.h"
#include "genetics/first_genome.h"
#include "native/evolution.h"
#include "native/lowest.h"
#include "native/prepared_draws.h"
#include "native/section_kernels.h"

EVONET_NAMESPACE_BEGIN

template <class T>
void breed_one(Child<T>& child, const Genome<T>& fitter, const Genome<T>& other, bool same_parent,
               const GenomeRules<T>& rules, int num_inputs, int num_outputs, RandomSource random,
               uint32_t index) {
  PreparedDraws draws(Draws{random.seed, random.generation, index});
  breed(child, fitter, other, same_parent, rules, num_inputs, num_outputs, draws);
}

template <class T>
void first_one(Child<T>& child, const FirstPlan& plan, const GenomeRules<T>& rules,
               RandomSource random, uint32_t index) {
  make_first_genome(child, plan, rules, Draws{random.seed, random.generation, index});
}

inline int64_t cycle_scratch_of(int64_t num_nodes, int64_t num_conns) {
  return cycle_scratch(num_nodes, num_conns);
}

template <class T>
constexpr EvolutionKernels<T> kEvolution = {&cycle_scratch_of, &breed_one<T>, &first_one<T>,
                                            &add_standard<T>,  &measure<T>,   &any_below<T>,
                                            &first_least<T>};

EVONET_NAMESPACE_END
