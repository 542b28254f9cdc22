// used_functions.cu: which functions the nodes of a population name. used[0..7] are the bits of
// activations, used[8..15] those of aggregations; they are 0 before. A thread per node.
#include "numerics/portable.h"

extern "C" __global__ void __launch_bounds__(256)
    used_functions(long long num_nodes, const unsigned char* __restrict__ activation,
                   const unsigned char* __restrict__ aggregation, unsigned* used) {
  __shared__ unsigned here[16];
  if (threadIdx.x < 16) here[threadIdx.x] = 0;
  __syncthreads();
  const long long node = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (node < num_nodes) {
    const int first = activation[node], second = aggregation[node];
    atomicOr(&here[first / 32], 1u << first % 32);
    atomicOr(&here[8 + second / 32], 1u << second % 32);
  }
  __syncthreads();
  if (threadIdx.x < 16 && here[threadIdx.x] != 0) atomicOr(&used[threadIdx.x], here[threadIdx.x]);
}
