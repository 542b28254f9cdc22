// grid_compact.cu: moves the columns that live on to the front; a block per node of the level.
//
// A row is moved in place and in order: a round's columns are read before any of them is written,
// and none is written that a later round reads.
//
// REAL: float or double.
#include "cuda/grid.h"

using namespace evonet;

extern "C" __global__ void __launch_bounds__(256)
    grid_compact(int row, long long genome_values, const int2* __restrict__ rows,
                 const int* __restrict__ moved, const int* __restrict__ kept, REAL* values) {
  const ValueRow node = __builtin_bit_cast(ValueRow, rows[blockIdx.x]);
  const int live = moved[node.genome];
  REAL* const value = values + node.genome * genome_values + (long long)node.slot * row;
  const int* const keep = kept + (long long)node.genome * row;
  for (int round = 0; round < live; round += 256) {
    const int place = round + int(threadIdx.x);
    const REAL moving = place < live ? value[keep[place]] : REAL(0);
    __syncthreads();
    if (place < live) value[place] = moving;
    __syncthreads();
  }
}
