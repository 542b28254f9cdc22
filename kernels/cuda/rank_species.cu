// rank_species.cu: the species of members that were ranked by score, for another stable sort. A
// thread per rank; the member of rank i is the `by_score[i]`th from the end.
#include "genetics/mating.h"

using namespace evonet;

extern "C" __global__ void __launch_bounds__(256)
    rank_species(long long count, long long num_species, const long long* __restrict__ start,
                 const long long* __restrict__ by_score, unsigned int* __restrict__ species) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  species[i] = (unsigned int)group_of(start, num_species, count - 1 - by_score[i]);
}
