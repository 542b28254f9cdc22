// mating.h: in which order genomes rank, and who the parents of a child are.
#pragma once

#include "numerics/philox.h"

EVONET_NAMESPACE_BEGIN

// Unsigned, and smaller for a higher score: the order of ranks, but for ties. Zeros are equal.
EVONET_FN uint64 rank_key(double score) {
  constexpr uint64 kSign = uint64(1) << 63;
  const uint64 bits = score == 0.0 ? 0 : __builtin_bit_cast(uint64, score);
  return (bits & kSign) != 0 ? bits : ~(bits | kSign);
}

// The last group that starts at a position or before it: the one that has it, since groups that
// start there too and come before it are empty.
template <class Int>
EVONET_FN int64 group_of(const Int* start, int64 num_groups, int64 position) {
  int64 group = 0;
  for (int64 behind = num_groups; behind - group > 1;) {
    const int64 middle = (group + behind) / 2;
    if (start[middle] <= position) {
      group = middle;
    } else {
      behind = middle;
    }
  }
  return group;
}

// S species; Int holds positions, and is whatever 64-bit integer their arrays have.
template <class Int>
struct MatingPools {
  int64 num_species;
  const double* scores;     // [P] higher is better
  const Int* members;       // positions of the genomes, ascending within a species
  const Int* member_start;  // [S + 1]
  const Int* best;          // members by rank, species by species: the pools of parents
  const double* best_score;
  const Int* best_start;   // [S] where the pool of each species begins
  const Int* num_parents;  // [S] how many of them may have children
  float interspecies;      // probability that the second parent is of another species
};

struct Couple {
  int64 fitter, other;
};

// The parents of one child of a species.
template <class Int>
EVONET_FN Couple draw_couple(const MatingPools<Int>& pools, int64 home, const Draws& draws) {
  const Philox r = draws(FOR_PARENTS, 0);
  const int32 size = int32(pools.num_parents[home]);
  const int64 one = pools.best_start[home] + choose(r.word[0], size);
  const int64 two = pools.best_start[home] + choose(r.word[1], size);
  const int64 first = pools.best[one];
  int64 second = pools.best[two];
  double second_score = pools.best_score[two];
  if (pools.num_species > 1 && uniform(r.word[2]) < pools.interspecies) {
    int64 away = choose(r.word[3], int32(pools.num_species - 1));
    away += away >= home;
    const int64 start = pools.member_start[away];
    const int32 members = int32(pools.member_start[away + 1] - start);
    second = pools.members[start + choose(draws(FOR_PARENTS, 1).word[0], members)];
    second_score = pools.scores[second];
  }
  // Ties favour the second, as in neat-python.
  const bool first_is_fitter = pools.best_score[one] > second_score;
  return {first_is_fitter ? first : second, first_is_fitter ? second : first};
}

EVONET_NAMESPACE_END
