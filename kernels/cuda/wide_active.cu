// wide_active.cu: a block per sample joins the rows of its buckets, its labels and the shared rows:
// sorted by a bitonic network in shared memory, then each row once. Where that is too few, rows of
// `fill` join and it is done again.
#include "wide/hash.h"

using namespace evonet;

constexpr int kMostThreads = 256;
constexpr int kNoRow = 0x7fffffff;

// Sorts list [size], a power of 2 that count fills up to; writes each row once, and returns how
// many.
static __device__ int sort_once(int* list, int size, int count, int* tile, int* out) {
  const int thread = threadIdx.x, threads = blockDim.x;
  for (int i = count + thread; i < size; i += threads) list[i] = kNoRow;
  __syncthreads();
  for (int run = 2; run <= size; run *= 2) {
    for (int gap = run / 2; gap > 0; gap /= 2) {
      for (int i = thread; i < size / 2; i += threads) {
        const int at = i / gap * 2 * gap + i % gap;
        const bool ascends = (at & run) == 0;
        const int a = list[at], b = list[at + gap];
        if ((a > b) == ascends) {
          list[at] = b;
          list[at + gap] = a;
        }
      }
      __syncthreads();
    }
  }
  int total = 0;
  for (int first = 0; first < size; first += threads) {
    const int i = first + thread;
    const bool fresh = i < size && list[i] != kNoRow && (i == 0 || list[i - 1] != list[i]);
    tile[thread] = fresh;
    __syncthreads();
    for (int reach = 1; reach < threads; reach *= 2) {
      const int before = thread >= reach ? tile[thread - reach] : 0;
      __syncthreads();
      tile[thread] += before;
      __syncthreads();
    }
    if (fresh) out[total + tile[thread] - 1] = list[i];
    total += tile[threads - 1];
    __syncthreads();
  }
  return total;
}

extern "C" __global__ void __launch_bounds__(kMostThreads)
    wide_active(long long num_rows, int num_tables, int num_buckets, const int* __restrict__ codes,
                const int* __restrict__ starts, const int* __restrict__ ids,
                const long long* __restrict__ label_start, const int* __restrict__ labels,
                const int* __restrict__ shared_rows, int num_shared, const int* __restrict__ fill,
                int num_fill, int limit, int minimum, unsigned long long seed, unsigned int step,
                int size, long long most, int* __restrict__ active, long long* __restrict__ begin,
                long long* __restrict__ end) {
  extern __shared__ int shared[];  // list [size], offset [num_tables + 1]
  __shared__ int tile[kMostThreads];
  int* const list = shared;
  int* const offset = list + size;
  const int sample = blockIdx.x, thread = threadIdx.x, threads = blockDim.x;
  const int* const code = codes + (long long)sample * num_tables;
  const int first = first_table(seed, step, sample, num_tables);
  if (thread == 0) {
    offset[0] = 0;
    for (int i = 0; i < num_tables; ++i) {
      const int table = (first + i) % num_tables;
      const int* const start = starts + table * ((long long)num_buckets + 1) + code[table];
      offset[i + 1] = min(limit, offset[i] + start[1] - start[0]);
    }
  }
  __syncthreads();
  for (int i = 0; i < num_tables; ++i) {
    const int table = (first + i) % num_tables;
    const int start = starts[table * ((long long)num_buckets + 1) + code[table]];
    for (int j = thread; j < offset[i + 1] - offset[i]; j += threads) {
      list[offset[i] + j] = ids[table * num_rows + start + j];
    }
  }
  int count = offset[num_tables];
  const long long label = label_start[sample];
  const int num_labels = (int)(label_start[sample + 1] - label);
  for (int i = thread; i < num_labels; i += threads) list[count + i] = labels[label + i];
  count += num_labels;
  for (int i = thread; i < num_shared; i += threads) list[count + i] = shared_rows[i];
  count += num_shared;
  __syncthreads();
  int* const out = active + sample * most;
  int found = sort_once(list, size, count, tile, out);
  const int missing = min(minimum - found, num_fill);
  if (missing > 0) {  // for the whole block
    for (int i = thread; i < found; i += threads) list[i] = out[i];
    __syncthreads();
    for (int i = thread; i < missing; i += threads) list[found + i] = fill[i];
    __syncthreads();
    found = sort_once(list, size, found + missing, tile, out);
  }
  if (thread == 0) {
    begin[sample] = sample * most;
    end[sample] = sample * most + found;
  }
}
