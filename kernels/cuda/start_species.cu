// start_species.cu: nobody is in a species, and nothing farther than `threshold` is near; a thread
// per genome.
extern "C" __global__ void start_species(long long num_genomes, REAL threshold,
                                         REAL* __restrict__ best, int* __restrict__ species) {
  const long long g = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= num_genomes) return;
  best[g] = threshold;
  species[g] = -1;
}
