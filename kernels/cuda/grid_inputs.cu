// grid_inputs.cu: the samples of a piece become columns of the values of every genome.
//
// x lies as [sample][input], values as [slot][column], so a block turns a square of 32 by 32
// numbers around in shared memory: both sides then read and write whole lines. The first block of
// a column also notes that all columns are there, each with its own sample.
//
// REAL: float or double. Maps of columns may be null where none ever leaves.
#include "cuda/grid.h"

using namespace evonet;

extern "C" __global__ void __launch_bounds__(256)
    grid_inputs(int num_inputs, int shared_x, long long num_samples, long long first_sample,
                int columns, int row, long long genome_values, const REAL* __restrict__ x,
                REAL* __restrict__ values, int* __restrict__ num_columns,
                int* __restrict__ sample_of, int* __restrict__ column_of) {
  __shared__ REAL square[32][33];
  const int column_tiles = (columns - 1) / 32 + 1;
  const int input_tiles = num_inputs > 0 ? (num_inputs - 1) / 32 + 1 : 1;
  const int tile = blockIdx.x / input_tiles, input_tile = blockIdx.x - tile * input_tiles;
  const int genome = tile / column_tiles, column_tile = tile - genome * column_tiles;
  const int lane = threadIdx.x % 32, first = threadIdx.x / 32;

  const REAL* const from = x + ((shared_x ? 0 : genome * num_samples) + first_sample) * num_inputs;
  const int input = input_tile * 32 + lane;
  for (int i = first; i < 32; i += kCopyWarps) {
    const int column = column_tile * 32 + i;
    if (input < num_inputs && column < columns) {
      square[i][lane] = from[(long long)column * num_inputs + input];
    }
  }
  __syncthreads();
  REAL* const to = values + genome * genome_values;
  const int column = column_tile * 32 + lane;
  for (int i = first; i < 32; i += kCopyWarps) {
    const int slot = input_tile * 32 + i;
    if (slot < num_inputs && column < columns) to[(long long)slot * row + column] = square[lane][i];
  }
  if (input_tile == 0 && first == 0) {
    if (column == 0) num_columns[genome] = columns;
    if (sample_of != nullptr && column < columns) {
      sample_of[(long long)genome * row + column] = column;
      column_of[(long long)genome * row + column] = column;
    }
  }
}
