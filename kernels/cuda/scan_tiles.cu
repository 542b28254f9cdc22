// scan_tiles.cu: sums of numbers, inside each tile; scan_join.cu adds what lies before the tile.
// Of every row of numbers [rows, count], sums[row, i + 1] becomes the sum of a tile's numbers up to
// i, and totals[row, tile] that of all of them; largest[row], if it is wanted, rises to the largest
// number. Numbers are not negative. A block per tile and row.
#include "cuda/scan.h"

using namespace evonet;

extern "C" __global__ void __launch_bounds__(kScanThreads)
    scan_tiles(long long count, const int* __restrict__ numbers, long long* __restrict__ sums,
               long long* __restrict__ totals, long long* __restrict__ largest) {
  __shared__ long long before[kScanThreads];
  const long long row = blockIdx.y, first = (long long)blockIdx.x * kScanTile;
  numbers += row * count;
  sums += row * (count + 1);
  const long long own = first + threadIdx.x * (long long)kScanRun;
  long long sum = 0;
  int most = 0;
  for (int i = 0; i < kScanRun; ++i) {
    const int number = own + i < count ? numbers[own + i] : 0;
    sum += number;
    most = number > most ? number : most;
  }
  sum_up_to(sum, before);
  long long next = before[threadIdx.x] - sum;
  for (int i = 0; i < kScanRun; ++i) {
    if (own + i >= count) break;
    next += numbers[own + i];
    sums[own + i + 1] = next;
  }
  for (int step = 16; step > 0; step /= 2) {
    const int other = __shfl_xor_sync(0xffffffffu, most, step);
    most = other > most ? other : most;
  }
  if (largest != nullptr && threadIdx.x % 32 == 0) atomicMax(&largest[row], (long long)most);
  if (threadIdx.x == kScanThreads - 1) totals[row * gridDim.x + blockIdx.x] = before[threadIdx.x];
}
