// wide_logits.cu: half a warp per row and sample: all outputs of a few samples, [samples, rows].
#include "cuda/wide_lists.h"

using namespace evonet;

constexpr int kMostThreads = 256;

extern "C" __global__ void __launch_bounds__(kMostThreads)
    wide_logits(const float* __restrict__ dense, const float* __restrict__ weights,
                const float* __restrict__ state, long long num_rows, int width,
                float* __restrict__ logits) {
  const long long sample = blockIdx.y;
  const long long row = blockIdx.x * (long long)(blockDim.x / kRowLanes) + threadIdx.x / kRowLanes;
  const int lane = threadIdx.x % kRowLanes;
  const long long from = row < num_rows ? row : num_rows - 1;  // whole warps take part in shuffles
  float sum = 0.0f;
  for (int j = lane; j < width; j += kRowLanes) {
    sum = fused(weights[from * width + j], dense[sample * width + j], sum);
  }
  sum = add_half_warp(sum);
  if (lane == 0 && row < num_rows) logits[sample * num_rows + row] = sum + state[row * kRowState];
}
