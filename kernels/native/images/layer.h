// layer.h: a layer of a front and the map that it reads, as kernels see them.
#pragma once

#include <cstdint>

#include "images/conv_shape.h"

namespace evonet {

// How a tile is computed; both give equal bits.
enum class ConvPath : int { kAuto, kSparse, kDense };

template <class T>
struct ConvLayer {
  ConvShape shape;
  int block;         // output channels that one pass over a window computes: whole vectors
  const T* weights;  // [blocks, taps, block], 0 behind the last channel
  const T* bias;     // [blocks, block]
};

// One image's map, dense and packed. The non-zeros of a row stand at its front.
template <class T>
struct PackedMap {
  const T* dense;           // [height, width, channels]
  const T* value;           // [height, width * channels]
  const int32_t* position;  // where they stood in the row
  const int32_t* start;     // [height, width + 1]: how many stand before each pixel
};

// One image on the way back through a layer. Rows of weights, [O, kernel_height] of them, are
// `row_step` numbers long: a row of a window, and some behind it that mean nothing.
template <class T>
struct ConvReverse {
  const T* map;          // [height, width, channels], and a vector behind it
  const int32_t* start;  // [height, width + 1] non-zeros before each pixel of the map
  const T* adjoint;      // [conv_height, conv_width, O] of what the activation got
  const T* weights;      // [O, kernel_height, row_step]
  int64_t row_step;
  T* d_weights;  // sums, as weights are
  T* d_bias;     // [O]
  T* d_map;      // as map; null if it is not wanted
  // A row of adjoints, packed: room for conv_width * O numbers and a vector, and conv_width + 1.
  T* value;
  int32_t *position, *packed_start;
  int64_t* offset;  // [O]
};

// Outputs after pooling: rows [top, bottom) and columns [left, right).
struct ConvTile {
  int top, bottom, left, right;
};

// Where a tile's numbers go: channel c of (row, column) to data + row * row_step + column * step +
// c * channel_step.
template <class T>
struct MapWriter {
  T* data;
  int64_t row_step, step, channel_step;
};

// What was done, to be added up.
struct ConvCounts {
  int64_t sparse_terms = 0;  // inputs times windows that were multiplied by a block of channels
  int64_t dense_terms = 0;
  int64_t all_terms = 0;  // had nothing been skipped
};

template <class T>
struct ImageKernels {
  int vector_width;
  int max_block;        // the most channels of a block
  int64_t max_scratch;  // numbers that a tile may need per channel of a block: its pixels
  // Packs the non-zeros of a row of pixels.
  void (*pack_row)(const T* row, int width, int channels, T* value, int32_t* position,
                   int32_t* start);
  // One tile of one block of channels.
  void (*convolve)(const ConvLayer<T>& layer, int block, const PackedMap<T>& map, ConvTile tile,
                   ConvPath path, T* scratch, const MapWriter<T>& out, ConvCounts& counts);
  // From sums with their biases [conv_height, conv_width, O] to values of the same shape, which
  // have a vector of room behind them, and to what pooling makes of them. pooled is [O] and a
  // vector.
  void (*finish)(const ConvShape& shape, const T* sums, T* values, T* pooled,
                 const MapWriter<T>& out);
  // From the adjoint of a layer's output, which `from` points to, to that of its values; both have
  // a vector of room. scratch is [2, O and a vector].
  void (*unpool)(const ConvShape& shape, const T* values, const MapWriter<const T>& from,
                 T* adjoint, T* scratch);
  void (*reverse)(const ConvShape& shape, const ConvReverse<T>& image);
  // The tree of nodes/loss.h: joins sums [num_lanes, count] of samples into the first of them.
  void (*join)(T* lanes, int64_t num_lanes, int64_t count);
};

}  // namespace evonet
