// image_spread.cu: the adjoints of a layer's input; a thread per number, which gathers them from
// the windows that see it, in the order of memory, and from their outputs in theirs.
//
// weights [O, taps]. `finishes` is set for images, whose adjoints somebody reads.
//
// REAL: float or double.
#include "cuda/addresses.h"
#include "images/convolution.h"

using namespace evonet;

constexpr int kThreads = 256;
constexpr int kLeastBlocks = 3;  // registers enough, so that none is spilled

extern "C" __global__ void __launch_bounds__(kThreads, kLeastBlocks)
    image_spread(const REAL* __restrict__ adjoint, const REAL* __restrict__ weights,
                 REAL* __restrict__ out, long long numbers, long long out_step,
                 long long out_row_step, long long out_column_step, long long out_channel_step,
                 int height, int width, int channels, int padding, int num_outputs,
                 int kernel_height, int kernel_width, int stride, int conv_height, int conv_width,
                 int finishes) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= numbers) return;
  const int channel = int(i % channels);
  const long long place = i / channels;
  const int column = int(place % width), row = int(place / width % height);
  const long long image = place / width / height;
  const int x = column + padding, y = row + padding;
  const int top = y < kernel_height ? 0 : (y - kernel_height) / stride + 1;
  const int left = x < kernel_width ? 0 : (x - kernel_width) / stride + 1;
  const int bottom = min(y / stride + 1, conv_height), right = min(x / stride + 1, conv_width);
  const int taps = kernel_height * kernel_width * channels;
  REAL sum = REAL(0);
  for (int wy = top; wy < bottom; ++wy) {
    for (int wx = left; wx < right; ++wx) {
      const int tap = ((y - wy * stride) * kernel_width + x - wx * stride) * channels + channel;
      const REAL* weight = weights + tap;
      const REAL* const d = adjoint + ((image * conv_height + wy) * conv_width + wx) * num_outputs;
      for (int o = 0; o < num_outputs; ++o, weight += taps) {
        const REAL by = d[o];
        if (by != REAL(0)) sum = multiply_add(by, *weight, sum);
      }
    }
  }
  out[image * out_step + row * out_row_step + column * out_column_step +
      channel * out_channel_step] = finishes ? finish_slope(sum) : sum;
}
