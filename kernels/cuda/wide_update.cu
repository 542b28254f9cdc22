// wide_update.cu: a warp per row; rows that no list names are left alone. Each lane looks for the
// row in the list of one sample; those that have it are added in the order of samples, never by
// atomics. Then comes a step of Adam.
#include "cuda/wide_lists.h"
#include "learning/adam.h"

using namespace evonet;

constexpr int kMostThreads = 128;
constexpr int kColumns = 4;  // of a lane at a time

extern "C" __global__ void __launch_bounds__(kMostThreads, 8)
    wide_update(int num_rows, int num_samples, int width, const long long* __restrict__ begin,
                const long long* __restrict__ end, const int* __restrict__ list,
                const float* __restrict__ coefficient, const float* __restrict__ dense,
                int with_bias, float keep_mean, float keep_square, float add_mean, float add_square,
                float epsilon, const float* __restrict__ corrected_rate,
                const float* __restrict__ correction, int num_corrections, int* __restrict__ marks,
                float* __restrict__ weights, float* __restrict__ mean, float* __restrict__ square,
                float* __restrict__ state) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= num_rows || marks[row] == 0) return;  // as a whole warp
  const AdamRule<float> rule{keep_mean, keep_square, add_mean, add_square, epsilon};
  float* const own = state + (long long)row * kRowState;
  const float updates = own[3];
  const int n = (int)at_most(updates, float(num_corrections - 1));
  const float rate = corrected_rate[n], scale = correction[n];
  float bias = 0.0f;
  for (int first = 0; first < width; first += 32 * kColumns) {
    float gradient[kColumns] = {};
    for (int b0 = 0; b0 < num_samples; b0 += 32) {
      const int b = b0 + lane;
      float c = 0.0f;
      bool found = false;
      if (b < num_samples) {
        const long long at = place_in_list(list, begin[b], end[b], row);
        found = at < end[b] && list[at] == row;
        if (found) c = coefficient[at];
      }
      for (unsigned int left = __ballot_sync(0xffffffffu, found); left != 0; left &= left - 1) {
        const int from = __ffs(left) - 1;
        const float factor = __shfl_sync(0xffffffffu, c, from);
        const float* const x = dense + (long long)(b0 + from) * width + first + lane;
        if (first == 0) bias = bias + factor;
        EVONET_UNROLL
        for (int i = 0; i < kColumns; ++i) {
          if (first + lane + 32 * i < width) gradient[i] = fused(factor, x[32 * i], gradient[i]);
        }
      }
    }
    EVONET_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      const int j = first + lane + 32 * i;
      if (j < width) {
        const long long at = (long long)row * width + j;
        adam_step(rule, rate, scale, gradient[i], weights[at], mean[at], square[at]);
      }
    }
  }
  __syncwarp();
  if (lane == 0) {
    if (with_bias) adam_step(rule, rate, scale, bias, own[0], own[1], own[2]);
    own[3] = next_update(updates);
    marks[row] = 0;
  }
}
