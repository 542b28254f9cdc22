// image_slopes.cu: adds the pixels of some images to the gradients of a layer's weights and biases,
// lane by lane: sample b goes to lane b % 32 of the tree of nodes/loss.h. A thread has one lane,
// one tap and some outputs, and takes the pixels of its samples in order; threads side by side read
// numbers of the map side by side. Adjoints, of which most are 0, are the same for a whole warp
// wherever a window is long enough.
//
// lanes [lanes, O, taps + 1]: a bias is the weight of an input that is always 1.
//
// REAL: float or double.
#include "cuda/addresses.h"
#include "images/convolution.h"
#include "nodes/loss.h"

using namespace evonet;

constexpr int kThreads = 128;
constexpr int kLeastBlocks = 6;  // registers enough, so that none is spilled
constexpr int kOutputs = 4;      // of a thread

extern "C" __global__ void __launch_bounds__(kThreads, kLeastBlocks)
    image_slopes(const REAL* __restrict__ maps, const REAL* __restrict__ adjoint,
                 REAL* __restrict__ lanes, long long map_step, int num_images, int first_lane,
                 int is_first, int num_lanes, int map_row, int channels, int num_outputs,
                 int kernel_height, int kernel_width, int stride, int conv_height, int conv_width) {
  const int run = kernel_width * channels, rows = kernel_height * run + 1;
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = int(i / rows), tap = int(i % rows), first = int(blockIdx.y) * kOutputs;
  if (lane >= num_lanes) return;
  const int real = min(kOutputs, num_outputs - first);
  REAL* const to = lanes + (wide_product(lane, num_outputs) + first) * rows + tap;
  REAL sum[kOutputs];
  EVONET_UNROLL
  for (int k = 0; k < kOutputs; ++k) {
    sum[k] = k < real && !is_first ? to[(long long)k * rows] : REAL(0);
  }
  const bool is_bias = tap == rows - 1;
  const int ky = is_bias ? 0 : tap / run;
  const long long offset = is_bias ? 0 : wide_product(ky, map_row) + (tap - ky * run);
  const long long pixels = wide_product(conv_height, conv_width) * num_outputs;
  for (int image = (lane - first_lane + kLossLanes) % kLossLanes; image < num_images;
       image += kLossLanes) {
    const REAL* d = adjoint + image * pixels + first;
    for (int y = 0; y < conv_height; ++y) {
      const REAL* x = maps + image * map_step + wide_product(y * stride, map_row) + offset;
      for (int column = 0; column < conv_width; ++column, d += num_outputs) {
        REAL by[kOutputs];
        bool counts = false;
        EVONET_UNROLL
        for (int k = 0; k < kOutputs; ++k) {
          by[k] = k < real ? d[k] : REAL(0);
          counts = counts || by[k] != REAL(0);
        }
        if (!counts) continue;
        const REAL input = is_bias ? REAL(1) : x[wide_product(column * stride, channels)];
        EVONET_UNROLL
        for (int k = 0; k < kOutputs; ++k) {
          if (by[k] != REAL(0)) sum[k] = add_slope(by[k], input, sum[k]);
        }
      }
    }
  }
  EVONET_UNROLL
  for (int k = 0; k < kOutputs; ++k) {
    if (k < real) to[(long long)k * rows] = sum[k];
  }
}
