// wide_sum.cu: a block per list, a thread per column: rows times their coefficients, in the order
// of the list. mode: 1 cuts off what is below 0, 2 sets to 0 where `hidden` is not above it.
#include "cuda/wide_lists.h"

using namespace evonet;

constexpr int kMostThreads = 256;

extern "C" __global__ void __launch_bounds__(kMostThreads)
    wide_sum(const long long* __restrict__ begin, const long long* __restrict__ end,
             const int* __restrict__ list, const float* __restrict__ coefficient,
             const float* __restrict__ rows, int width, int mode, const float* __restrict__ hidden,
             float* __restrict__ out) {
  const long long sample = blockIdx.x;
  for (int j = threadIdx.x; j < width; j += blockDim.x) {
    float sum = 0.0f;
    for (long long e = begin[sample]; e < end[sample]; ++e) {
      sum = fused(coefficient[e], rows[(long long)list[e] * width + j], sum);
    }
    if (mode == 1) sum = sum > 0.0f ? sum : 0.0f;
    if (mode == 2) sum = hidden[sample * width + j] > 0.0f ? sum : 0.0f;
    out[sample * width + j] = sum;
  }
}
