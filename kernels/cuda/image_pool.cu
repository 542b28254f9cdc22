// image_pool.cu: from what the activations of a layer get, [images, conv_height, conv_width, O], to
// its pooled values; a thread per value. It also notes which window of a max pool was chosen, for
// the way back.
//
// REAL: float or double.
#include "cuda/addresses.h"
#include "images/convolution.h"
#include "nodes/custom_functions.h"
#include "nodes/dispatch.h"
#include "nodes/node.h"

using namespace evonet;

constexpr int kThreads = 256;
constexpr int kLeastBlocks = 3;  // registers enough, so that none is spilled

extern "C" __global__ void __launch_bounds__(kThreads, kLeastBlocks)
    image_pool(const REAL* __restrict__ z, REAL* __restrict__ out, int* __restrict__ chosen,
               long long numbers, long long out_step, long long out_row_step,
               long long out_column_step, long long out_channel_step, int num_outputs,
               int conv_height, int conv_width, int out_height, int out_width, int activation,
               int pool, int pool_size, int pool_stride) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= numbers) return;
  const int channel = int(i % num_outputs);
  const long long place = i / num_outputs;
  const int column = int(place % out_width), row = int(place / out_width % out_height);
  const long long image = place / out_width / out_height;
  const REAL* const first =
      z +
      ((image * conv_height + row * pool_stride) * conv_width + column * pool_stride) *
          num_outputs +
      channel;
  REAL joined = REAL(0);
  int best = 0;
  EVONET_KEEP_LOOP
  for (int n = 0; n < pool_size * pool_size; ++n) {
    const int y = n / pool_size;
    const long long pixel = wide_product(y, conv_width) + (n - y * pool_size);
    const REAL sum = first[pixel * num_outputs];
    REAL value = REAL(0);
    const auto activate = [&](auto function) { value = function.apply(sum); };
    with_activation(activation, activate);
    if constexpr (kHasCustomActivations) {
      if (activation >= NUM_ACTIVATIONS) with_custom_activation(activation, activate);
    }
    if (n == 0) {
      joined = value;
    } else if (pool == kMaxPool) {
      best = value > joined ? n : best;
      joined = pool_largest(joined, value);
    } else {
      joined = joined + value;
    }
  }
  if (pool == kAveragePool) joined = pool_mean(joined, REAL(pool_size * pool_size));
  if (pool == kMaxPool) chosen[i] = best;
  if (out != nullptr) {  // of the last layer only the choice is of interest
    out[image * out_step + row * out_row_step + column * out_column_step +
        channel * out_channel_step] = joined;
  }
}
