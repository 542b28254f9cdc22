// wide_build.cu: a block per table fills its buckets, a tile of rows at a time and in order. Rows
// of a tile count their equals before them, so that no rank depends on timing; of rows that take
// the same place, the largest is the last.
//
// starts, ids and count hold what memory held before; rank is scratch as large as count.
#include "wide/hash.h"

using namespace evonet;

constexpr int kMostThreads = 256;

extern "C" __global__ void __launch_bounds__(kMostThreads)
    wide_build(long long num_rows, int num_buckets, int capacity, int keep, unsigned long long seed,
               unsigned int epoch, const int* __restrict__ codes, int* __restrict__ starts,
               int* __restrict__ ids, int* __restrict__ count, int* __restrict__ rank) {
  __shared__ int tile[kMostThreads];
  const long long table = blockIdx.x;
  const int thread = threadIdx.x, threads = blockDim.x;
  const int* const own = codes + table * num_rows;
  int* const start = starts + table * ((long long)num_buckets + 1);
  int* const kept = ids + table * num_rows;
  int* const counts = count + table * num_buckets;
  int* const ranks = rank + table * num_buckets;
  for (int b = thread; b < num_buckets; b += threads) counts[b] = ranks[b] = 0;
  for (long long row = thread; row < num_rows; row += threads) kept[row] = -1;
  __syncthreads();
  for (long long row = thread; row < num_rows; row += threads) atomicAdd(&counts[own[row]], 1);
  __syncthreads();
  int total = 0;  // of the buckets before this tile
  for (int first = 0; first < num_buckets; first += threads) {
    const int b = first + thread;
    tile[thread] = b < num_buckets ? min(counts[b], capacity) : 0;
    __syncthreads();
    for (int reach = 1; reach < threads; reach *= 2) {
      const int before = thread >= reach ? tile[thread - reach] : 0;
      __syncthreads();
      tile[thread] += before;
      __syncthreads();
    }
    if (b < num_buckets) start[b + 1] = total + tile[thread];
    total += tile[threads - 1];
    __syncthreads();
  }
  if (thread == 0) start[0] = 0;
  __syncthreads();
  for (long long first = 0; first < num_rows; first += threads) {
    const long long row = first + thread;
    const bool inside = row < num_rows;
    const int b = inside ? own[row] : -1;
    tile[thread] = b;
    __syncthreads();
    int before = 0;
    bool last = true;
    for (int i = 0; i < threads; ++i) {
      if (tile[i] != b) continue;
      before += i < thread;
      last &= i <= thread;
    }
    const int place = inside ? ranks[b] + before : 0;
    __syncthreads();
    if (inside) {
      if (last) ranks[b] = place + 1;
      const int slot = bucket_slot(place, counts[b], capacity, keep, seed, epoch,
                                   (unsigned int)table, (unsigned int)row);
      if (slot >= 0) atomicMax(&kept[start[b] + slot], (int)row);
    }
    __syncthreads();
  }
}
