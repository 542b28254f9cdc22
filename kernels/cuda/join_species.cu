// join_species.cu: moves genomes to the species whose standard is nearer than that of their own; a
// thread per genome from `first` on. Standards of bit 0 in `present` stand for nobody. `next` falls
// to the first genome that is in no species.
#include "genetics/standards.h"

using namespace evonet;

extern "C" __global__ void __launch_bounds__(256)
    join_species(long long num_genomes, long long first, int first_species, int count,
                 unsigned int present, const REAL* __restrict__ distances, REAL* __restrict__ best,
                 int* __restrict__ species, unsigned int* __restrict__ next) {
  const long long g = first + (long long)blockIdx.x * blockDim.x + threadIdx.x;
  bool alone = false;
  if (g < num_genomes) {
    int now = species[g];
    REAL nearest = best[g];
    if (nearest > REAL(0)) {
      for (int s = 0; s < count; ++s) {
        if ((present >> s & 1) == 0) continue;
        const REAL distance = distances[g * kStandards + s];
        if (!(distance < nearest)) continue;
        nearest = distance;
        now = first_species + s;
      }
      best[g] = nearest;
      species[g] = now;
    }
    alone = now < 0;
  }
  const unsigned int waiting = __ballot_sync(0xffffffffu, alone);
  // Neighbours wait in order, so the first of a warp speaks for it.
  if (alone && threadIdx.x % 32 == __ffs(waiting) - 1) atomicMin(next, (unsigned int)g);
}
