// nearest_genomes.cu: the genome that is nearest to each standard, the first of several, for every
// block's part of the genomes; the host compares the blocks. Genomes in a species do not count
// where `species` is given. A distance that is not a number is no distance.
#include "genetics/standards.h"

using namespace evonet;

constexpr int kThreads = 256, kRows = kThreads / kStandards;
constexpr long long kNobody = 0x7fffffffffffffff;

__device__ __forceinline__ bool is_nearer(REAL distance, long long genome, REAL than,
                                          long long its_genome) {
  return distance < than || (distance == than && genome < its_genome);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    nearest_genomes(long long num_genomes, int count, const REAL* __restrict__ distances,
                    const int* __restrict__ species, REAL infinity,
                    REAL* __restrict__ nearest_distance, long long* __restrict__ nearest) {
  __shared__ REAL distance_of[kThreads];
  __shared__ long long genome_of[kThreads];
  const int lane = threadIdx.x % kStandards, row = threadIdx.x / kStandards;
  REAL best = infinity;
  long long who = kNobody;
  if (lane < count) {
    for (long long g = (long long)blockIdx.x * kRows + row; g < num_genomes;
         g += (long long)gridDim.x * kRows) {
      if (species != nullptr && species[g] >= 0) continue;
      const REAL distance = distances[g * kStandards + lane];
      if (is_nearer(distance, g, best, who)) {
        best = distance;
        who = g;
      }
    }
  }
  distance_of[threadIdx.x] = best;
  genome_of[threadIdx.x] = who;
  __syncthreads();
  for (int half = kThreads / 2; half >= kStandards; half /= 2) {
    const int other = threadIdx.x + half;
    if (threadIdx.x < half && is_nearer(distance_of[other], genome_of[other],
                                        distance_of[threadIdx.x], genome_of[threadIdx.x])) {
      distance_of[threadIdx.x] = distance_of[other];
      genome_of[threadIdx.x] = genome_of[other];
    }
    __syncthreads();
  }
  if (row == 0) {
    nearest_distance[blockIdx.x * kStandards + lane] = distance_of[lane];
    nearest[blockIdx.x * kStandards + lane] = genome_of[lane];
  }
}
