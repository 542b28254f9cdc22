// grid_outputs.cu: the columns of a piece become rows of y [genome][sample][output].
//
// A block turns a square of 32 by 32 numbers around, as grid_inputs.cu does. The outputs of samples
// whose columns have left are zero.
//
// REAL: float or double. column_of may be null where no column ever leaves.
#include "cuda/grid.h"

using namespace evonet;

extern "C" __global__ void __launch_bounds__(256)
    grid_outputs(int num_outputs, long long num_samples, long long first_sample, int columns,
                 int row, long long genome_values, const int* __restrict__ output_slot,
                 const REAL* __restrict__ values, const int* __restrict__ column_of,
                 REAL* __restrict__ y) {
  __shared__ REAL square[32][33];
  const int sample_tiles = (columns - 1) / 32 + 1, output_tiles = (num_outputs - 1) / 32 + 1;
  const int tile = blockIdx.x / output_tiles, output_tile = blockIdx.x - tile * output_tiles;
  const int genome = tile / sample_tiles, sample_tile = tile - genome * sample_tiles;
  const int lane = threadIdx.x % 32, first = threadIdx.x / 32;

  const int sample = sample_tile * 32 + lane;
  const int* const slots = output_slot + (long long)genome * num_outputs;
  const REAL* const from = values + genome * genome_values;
  if (sample < columns) {
    const int column = column_of == nullptr ? sample : column_of[(long long)genome * row + sample];
    for (int i = first; i < 32; i += kCopyWarps) {
      const int output = output_tile * 32 + i;
      if (output < num_outputs) {
        const int slot = slots[output];
        square[i][lane] = slot < 0 || column < 0 ? REAL(0) : from[(long long)slot * row + column];
      }
    }
  }
  __syncthreads();
  REAL* const to = y + (genome * num_samples + first_sample) * num_outputs;
  const int output = output_tile * 32 + lane;
  for (int i = first; i < 32; i += kCopyWarps) {
    const int at = sample_tile * 32 + i;
    if (at < columns && output < num_outputs) {
      to[(long long)at * num_outputs + output] = square[lane][i];
    }
  }
}
