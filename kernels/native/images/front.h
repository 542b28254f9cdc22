// front.h: layers of convolutions one after the other, images in and features out.
#pragma once

#include <cstdint>
#include <vector>

#include "native/images/layer.h"
#include "native/thread_pool.h"
#include "native/worker_memory.h"

namespace evonet {

// A layer as it is given: weights [O, kernel_height, kernel_width, C] and biases [O].
template <class T>
struct GivenLayer {
  ConvShape shape;
  int padding;  // of the input, on every side; part of the shape's height and width
  const T* weights;
  const T* bias;
};

// What a layer did with some images.
struct LayerReport {
  int64_t nonzeros = 0;  // of its input, and all numbers of it
  int64_t inputs = 0;
  ConvCounts counts;
};

template <class T>
class Front {
 public:
  Front(const std::vector<GivenLayer<T>>& layers, const ImageKernels<T>& kernels);

  Front(const Front&) = delete;

  // images [B, C, H, W] -> features [B, O, H, W] of the last layer. Returns false if it was
  // interrupted.
  bool run(const T* images, int64_t num_images, T* features, int threads, ConvPath path,
           const Interrupt::Poll& poll, std::vector<LayerReport>& reports) const;

  // Images that it has in memory at once.
  int64_t images_at_once() const { return images_at_once_; }

 private:
  struct OwnedLayer {
    ConvLayer<T> layer;
    int padding, num_blocks, tile_rows, tile_columns;
    AlignedArray<T> weights, bias;
  };

  int64_t image_size() const;

  // Images [count, C, H, W] to padded maps [count, H, W, C].
  bool load(const T* images, int64_t count, T* map, int threads, const Interrupt::Poll& poll) const;
  bool pack(const OwnedLayer& owned, int64_t count, const T* dense, T* value, int32_t* position,
            int32_t* start, int threads, const Interrupt::Poll& poll) const;

  const ImageKernels<T>& kernels_;
  std::vector<OwnedLayer> layers_;
  int64_t images_at_once_;
};

}  // namespace evonet
