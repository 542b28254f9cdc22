// speciate.h: puts genomes into species by genetic distance.
#pragma once

#include <vector>

#include "native/evolution.h"
#include "native/thread_pool.h"

namespace evonet {

struct Speciation {
  std::vector<int32_t> species;         // [P] species of each genome: old ones first, then new ones
  std::vector<int64_t> representative;  // genome that now stands for each species, or -1
};

// `old` holds the previous representatives, in order of their species. Returns false if poll asked
// to stop.
template <class T>
bool speciate(const GenomesView<T>& population, const std::vector<Genome<T>>& old, T threshold,
              const DistanceRules<T>& rules, const EvolutionKernels<T>& kernels, int threads,
              const Interrupt::Poll& poll, Speciation& out);

// Lists genomes [P] by species, ascending within each: members [P], starts [S + 1].
void group_members(const int32_t* species, int64_t count, int64_t num_species, int64_t* members,
                   int64_t* starts);

}  // namespace evonet
