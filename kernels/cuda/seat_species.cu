// seat_species.cu: puts the genomes that stand for species into them, for good: nothing is nearer.
// A thread per species; -1 stands for nobody.
extern "C" __global__ void seat_species(int count, int first_species,
                                        const long long* __restrict__ chosen,
                                        REAL* __restrict__ best, int* __restrict__ species) {
  const int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= count || chosen[s] < 0) return;
  best[chosen[s]] = REAL(-1);
  species[chosen[s]] = first_species + s;
}
