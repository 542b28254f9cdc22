// image_map.cu: images in any layout become maps with their channels last and zeros around them, as
// convolve.cu reads them; a thread per number of a map. Without images all of it is 0.
//
// REAL: float or double.
#include "cuda/conv_patch.h"

using namespace evonet;

extern "C" __global__ void __launch_bounds__(256)
    image_map(const REAL* __restrict__ images, REAL* __restrict__ maps,
              unsigned long long* __restrict__ counts, long long numbers, long long image_step,
              long long row_step, long long column_step, long long channel_step, int height,
              int width, int channels, int padding) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  REAL x = REAL(0);
  if (i < numbers && images != nullptr) {
    const int channel = int(i % channels);
    const long long pixel = i / channels;
    const int rows = height + 2 * padding, columns = width + 2 * padding;
    const int column = int(pixel % columns) - padding;
    const int row = int(pixel / columns % rows) - padding;
    const long long image = pixel / columns / rows;
    if (row >= 0 && row < height && column >= 0 && column < width) {
      x = images[image * image_step + row * row_step + column * column_step +
                 channel * channel_step];
    }
  }
  if (i < numbers) maps[i] = x;
  const long long nonzeros = add_warp(x != REAL(0));
  if (threadIdx.x % 32 == 0 && nonzeros > 0) {
    atomicAdd(counts, (unsigned long long)nonzeros);  // whole numbers: any order will do
  }
}
