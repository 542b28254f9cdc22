// image_join.cu: joins the sums of lanes [lanes, numbers] into the gradients of weights and biases,
// by the tree of nodes/loss.h; a thread per number. A lane without samples is 0.
//
// REAL: float or double.
#include "images/convolution.h"
#include "nodes/loss.h"

using namespace evonet;

constexpr int kThreads = 128;
constexpr int kLeastBlocks = 5;  // registers enough, so that none is spilled

// Adds the second half of some sums to the first, until one is left.
template <int HALF>
static __device__ __forceinline__ void join(REAL* sum) {
  EVONET_UNROLL
  for (int lane = 0; lane < HALF; ++lane) sum[lane] = sum[lane] + sum[lane + HALF];
  if constexpr (HALF > 1) join<HALF / 2>(sum);
}

extern "C" __global__ void __launch_bounds__(kThreads, kLeastBlocks)
    image_join(const REAL* __restrict__ lanes, REAL* __restrict__ sums, long long numbers,
               int num_lanes) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= numbers) return;
  REAL sum[kLossLanes];
  EVONET_UNROLL
  for (int lane = 0; lane < kLossLanes; ++lane) {
    sum[lane] = lane < num_lanes ? lanes[lane * numbers + i] : REAL(0);
  }
  join<kLossLanes / 2>(sum);
  sums[i] = finish_slope(sum[0]);
}
