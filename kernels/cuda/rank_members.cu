// rank_members.cu: members by rank, species by species, and the first ones of each as elites. A
// thread per place, whose member has rank `by_species[place]` among those of all species.
#include "genetics/mating.h"

using namespace evonet;

extern "C" __global__ void __launch_bounds__(256)
    rank_members(long long count, long long num_species, const double* __restrict__ scores,
                 const long long* __restrict__ members, const long long* __restrict__ start,
                 const long long* __restrict__ elite_start, const long long* __restrict__ by_score,
                 const long long* __restrict__ by_species, long long* __restrict__ best,
                 double* __restrict__ best_score, long long* __restrict__ elites) {
  const long long place = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (place >= count) return;
  const long long genome = members[count - 1 - by_score[by_species[place]]];
  best[place] = genome;
  best_score[place] = scores[genome];
  const long long species = group_of(start, num_species, place);
  const long long elite = elite_start[species] + place - start[species];
  if (elite < elite_start[species + 1]) elites[elite] = genome;
}
