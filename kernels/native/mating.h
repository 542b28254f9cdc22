// mating.h: who passes on unchanged, and who has children with whom.
#pragma once

#include <cstdint>

#include "native/evolution.h"
#include "native/thread_pool.h"

namespace evonet {

// S species, each with a share in the next generation.
struct MatingSpecies {
  int64_t num_species;
  const int64_t* member_start;  // [S + 1]
  const int64_t* members;       // positions of the genomes, ascending within a species
  const int64_t* num_elites;    // [S] copies, of the best members
  const int64_t* num_parents;   // [S] of the best members may have children
  const int64_t* num_children;  // [S]
  float interspecies;           // probability that the second parent is of another species
};

// Writes both parents of every genome of the next generation: copies first, by ascending position
// and with -1 as other parent, then children, species by species. Returns false if poll asked to
// stop.
bool plan_mating(const MatingSpecies& species, const double* scores, RandomSource random,
                 int threads, const Interrupt::Poll& poll, int64_t* fitter, int64_t* other);

}  // namespace evonet
