// wide_top.cu: a block per sample finds its k largest logits, one after the other: the best of
// those that come behind the one before.
#include "numerics/portable.h"

using namespace evonet;

constexpr int kMostThreads = 256;

// Whether a comes before b: a larger score, or an equal one and a smaller row.
static __device__ bool comes_before(float a, int row_a, float b, int row_b) {
  return a > b || (a == b && row_a < row_b);
}

extern "C" __global__ void __launch_bounds__(kMostThreads)
    wide_top(const float* __restrict__ logits, long long num_rows, int k, int* __restrict__ ids,
             float* __restrict__ scores) {
  __shared__ float best[kMostThreads];
  __shared__ int best_row[kMostThreads];
  const long long sample = blockIdx.x;
  const float* const own = logits + sample * num_rows;
  const int thread = threadIdx.x;
  float last = 0.0f;
  int last_row = -1;
  for (int i = 0; i < k; ++i) {
    float score = 0.0f;
    int found = -1;
    for (long long row = thread; row < num_rows; row += blockDim.x) {
      const float x = own[row];
      if (i > 0 && !comes_before(last, last_row, x, (int)row)) continue;
      if (found < 0 || comes_before(x, (int)row, score, found)) {
        score = x;
        found = (int)row;
      }
    }
    best[thread] = score;
    best_row[thread] = found;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
      if (thread < half) {
        const float x = best[thread + half];
        const int row = best_row[thread + half];
        if (row >= 0 &&
            (best_row[thread] < 0 || comes_before(x, row, best[thread], best_row[thread]))) {
          best[thread] = x;
          best_row[thread] = row;
        }
      }
      __syncthreads();
    }
    last = best[0];
    last_row = best_row[0];
    __syncthreads();
    if (thread == 0) {
      ids[sample * k + i] = last_row;
      scores[sample * k + i] = last;
    }
  }
}
