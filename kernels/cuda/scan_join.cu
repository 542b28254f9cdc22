// scan_join.cu: completes the sums of scan_tiles.cu by those of all tiles before. sums[row, 0]
// becomes 0, and grand[row] the sum of the whole row.
#include "cuda/scan.h"

using namespace evonet;

extern "C" __global__ void __launch_bounds__(kScanThreads)
    scan_join(long long count, const long long* __restrict__ totals, long long* __restrict__ sums,
              long long* __restrict__ grand) {
  __shared__ long long before[kScanThreads];
  const long long row = blockIdx.y, first = (long long)blockIdx.x * kScanTile;
  totals += row * gridDim.x;
  sums += row * (count + 1);
  long long part = 0;
  for (int tile = threadIdx.x; tile < int(blockIdx.x); tile += kScanThreads) part += totals[tile];
  sum_up_to(part, before);
  const long long start = before[kScanThreads - 1];
  for (long long i = first + threadIdx.x; i < first + kScanTile && i < count; i += kScanThreads) {
    sums[i + 1] += start;
  }
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) sums[0] = 0;
  if (blockIdx.x == gridDim.x - 1) grand[row] = start + totals[blockIdx.x];
}
