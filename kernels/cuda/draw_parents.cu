// draw_parents.cu: both parents of every genome of the next generation: elites, which have no other
// one, then children, species by species. A thread per genome.
#include "genetics/mating.h"

using namespace evonet;

extern "C" __global__ void __launch_bounds__(256)
    draw_parents(long long num_elites, long long num_children, long long num_species,
                 const double* __restrict__ scores, const long long* __restrict__ members,
                 const long long* __restrict__ start, const long long* __restrict__ num_parents,
                 const long long* __restrict__ first_child, const long long* __restrict__ best,
                 const double* __restrict__ best_score, const long long* __restrict__ elites,
                 float interspecies, unsigned long long seed, unsigned int generation,
                 long long* __restrict__ fitter, long long* __restrict__ other) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= num_elites + num_children) return;
  if (i < num_elites) {
    fitter[i] = elites[i];
    other[i] = -1;
    return;
  }
  const MatingPools<long long> pools{num_species, scores, members,     start,       best,
                                     best_score,  start,  num_parents, interspecies};
  const long long home = group_of(first_child, num_species, i - num_elites);
  const Couple parents = draw_couple(pools, home, Draws{seed, generation, uint32(i)});
  fitter[i] = parents.fitter;
  other[i] = parents.other;
}
