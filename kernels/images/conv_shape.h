// conv_shape.h: the sizes of one layer of a front.
#pragma once

#include "numerics/portable.h"

namespace evonet {

enum PoolKind : int { kNoPool, kMaxPool, kAveragePool };

struct ConvShape {
  int channels;       // of the input, C
  int height, width;  // of the input with its padding
  int num_outputs;    // channels of the output, O
  int kernel_height, kernel_width;
  int stride;
  int activation;
  int pool;                     // a PoolKind
  int pool_size, pool_stride;   // 1 and 1 without a pool
  int conv_height, conv_width;  // before pooling
  int out_height, out_width;    // after it

  // Terms of one sum.
  EVONET_METHOD int num_taps() const { return kernel_height * kernel_width * channels; }
  // Numbers in a row of the input, and of a window.
  EVONET_METHOD int row_length() const { return width * channels; }
  EVONET_METHOD int run_length() const { return kernel_width * channels; }
};

}  // namespace evonet
