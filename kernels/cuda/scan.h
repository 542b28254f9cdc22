// scan.h: prefix sums of whole numbers. A block takes a tile, and a thread a run of neighbours.
#pragma once

#include "numerics/portable.h"

EVONET_NAMESPACE_BEGIN

static constexpr int kScanThreads = 256, kScanRun = 8, kScanTile = kScanThreads * kScanRun;

// Leaves in sums[t] the numbers of the threads up to t; all threads of the block take part.
__device__ __forceinline__ void sum_up_to(long long number, long long* sums) {
  const int thread = threadIdx.x;
  sums[thread] = number;
  __syncthreads();
  for (int reach = 1; reach < kScanThreads; reach *= 2) {
    const long long other = thread >= reach ? sums[thread - reach] : 0;
    __syncthreads();
    sums[thread] += other;
    __syncthreads();
  }
}

EVONET_NAMESPACE_END
