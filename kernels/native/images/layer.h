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
};

}  // namespace evonet
