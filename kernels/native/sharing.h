// sharing.h: how many genomes of the next generation each species contributes.
#pragma once

#include <cstdint>
#include <vector>

namespace evonet {

struct SharingRules {
  int64_t pop_size;   // genomes of the next generation
  int64_t least;      // that each species has in it
  int64_t elitism;    // members of a species that pass on unchanged, at most
  double survival;    // part of the members that may become parents
  bool canonical;     // shares follow mean scores, not where these lie in the range of all scores
  bool proportional;  // species reach their shares at once, not half-way
};

struct SpeciesShares {
  std::vector<int64_t> num_elites, num_parents, num_children;  // [S]
};

// Shares out exactly pop_size genomes among `count` species, of which none is empty; pop_size is at
// least count * least. Scores are finite; members [P] are positions in them, species by species.
SpeciesShares share_out(const double* scores, const int64_t* members, const int64_t* member_start,
                        int64_t count, const SharingRules& rules, int threads);

}  // namespace evonet
