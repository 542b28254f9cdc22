// grid_census.cu: which columns live on after a level; a block per genome.
//
// Every strip of the level has noted which of its columns have a value that is not zero. A column
// without any has left: what follows reads nothing else and makes zeros of zeros. If few enough
// live, the block lists them in order, in `kept`, and `moved` tells grid_compact.cu how many; else
// everything stays where it is, because moving would cost more than it saves. All sums are of
// integers and in order.
#include "cuda/grid.h"

using namespace evonet;

constexpr int kThreads = 256;

// The sum of a number of each thread before this one; total gets that of all.
__device__ __forceinline__ int sum_before(int number, int* warps, int& total) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int sum = number;
  EVONET_UNROLL
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  int before = 0;
  total = 0;
  EVONET_UNROLL
  for (int i = 0; i < kThreads / 32; ++i) {
    if (i < warp) before += warps[i];
    total += warps[i];
  }
  __syncthreads();
  return before + sum - number;
}

__device__ __forceinline__ unsigned living_word(StripRange strips, const unsigned* living,
                                                int words, int word) {
  unsigned bits = 0;
  for (int strip = strips.begin; strip < strips.end; ++strip) {
    bits |= living[(long long)strip * words + word];
  }
  return bits;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    grid_census(int row, const int2* __restrict__ ranges, const unsigned* __restrict__ living,
                int* __restrict__ num_columns, int* __restrict__ moved, int* __restrict__ kept,
                int* __restrict__ sample_of, int* __restrict__ column_of) {
  __shared__ int warps[kThreads / 32];
  const int genome = blockIdx.x;
  const StripRange strips = __builtin_bit_cast(StripRange, ranges[genome]);
  const int columns = num_columns[genome], words = num_words(row), used = num_words(columns);
  if (strips.begin == strips.end) {
    if (threadIdx.x == 0) moved[genome] = -1;
    return;
  }
  int mine = 0, live = 0;
  for (int word = threadIdx.x; word < used; word += kThreads) {
    mine += __popc(living_word(strips, living, words, word));
  }
  sum_before(mine, warps, live);
  const bool moves = live <= columns - columns / 8 && live < columns;
  if (threadIdx.x == 0) {
    moved[genome] = moves ? live : -1;
    if (moves) num_columns[genome] = live;
  }
  if (!moves) return;

  int* const keep = kept + (long long)genome * row;
  int* const samples = sample_of + (long long)genome * row;
  int* const places = column_of + (long long)genome * row;
  int start = 0;  // living columns before this round
  for (int round = 0; round < used; round += kThreads) {
    const int word = round + threadIdx.x;
    unsigned bits = word < used ? living_word(strips, living, words, word) : 0;
    int total;
    int place = start + sum_before(__popc(bits), warps, total);
    start += total;
    for (int i = 0; i < 32; ++i, bits >>= 1) {
      const int column = word * 32 + i;
      if (column >= columns) break;
      if (bits & 1) keep[place] = column;
      places[samples[column]] = bits & 1 ? place++ : -1;
    }
  }
  __syncthreads();
  // In place and in order: a round's columns are read before any of them is written, and those
  // that it writes are not behind those that it read.
  for (int round = 0; round < live; round += kThreads) {
    const int place = round + threadIdx.x;
    const int sample = place < live ? samples[keep[place]] : 0;
    __syncthreads();
    if (place < live) samples[place] = sample;
    __syncthreads();
  }
}
