// image_adjoint.cu: from the adjoints of a layer's pooled values to those of what its activations
// got, [images, conv_height, conv_width, O]; a thread per number. It adds what the pools that cover
// its pixel pass on, in their order.
//
// REAL: float or double.
#include "cuda/gradient.h"
#include "images/convolution.h"

using namespace evonet;

constexpr int kThreads = 256;
constexpr int kLeastBlocks = 2;  // registers enough, so that none is spilled

extern "C" __global__ void __launch_bounds__(kThreads, kLeastBlocks)
    image_adjoint(const REAL* __restrict__ z, const REAL* __restrict__ d,
                  const int* __restrict__ chosen, REAL* __restrict__ adjoint, long long numbers,
                  long long d_step, long long d_row_step, long long d_column_step,
                  long long d_channel_step, int num_outputs, int conv_height, int conv_width,
                  int out_height, int out_width, int activation, int pool, int pool_size,
                  int pool_stride) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= numbers) return;
  const int channel = int(i % num_outputs);
  const long long place = i / num_outputs;
  const int x = int(place % conv_width), y = int(place / conv_width % conv_height);
  const long long image = place / conv_width / conv_height;
  const REAL* const from = d + image * d_step + channel * d_channel_step;
  REAL sum = REAL(0);
  if (pool == kNoPool) {
    sum = from[y * d_row_step + x * d_column_step];
  } else {
    const int top = y < pool_size ? 0 : (y - pool_size) / pool_stride + 1;
    const int left = x < pool_size ? 0 : (x - pool_size) / pool_stride + 1;
    const int bottom = min(y / pool_stride + 1, out_height);
    const int right = min(x / pool_stride + 1, out_width);
    for (int row = top; row < bottom; ++row) {
      for (int column = left; column < right; ++column) {
        const REAL more = from[row * d_row_step + column * d_column_step];
        if (pool == kAveragePool) {
          sum = sum + unpool_mean(more, REAL(pool_size * pool_size));
          continue;
        }
        const int own = (y - row * pool_stride) * pool_size + x - column * pool_stride;
        const long long window = (image * out_height + row) * out_width + column;
        if (chosen[window * num_outputs + channel] == own) sum = sum + more;
      }
    }
  }
  const REAL given = z[i];
  REAL value = REAL(0);
  const auto activate = [&](auto function) { value = function.apply(given); };
  with_activation(activation, activate);
  if constexpr (kHasCustomActivations) {
    if (activation >= NUM_ACTIVATIONS) with_custom_activation(activation, activate);
  }
  adjoint[i] = scaled_by_slope<REAL>(activation, sum, given, value);
}
