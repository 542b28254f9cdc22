// front.h: layers of convolutions one after the other, images in and features out.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
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

// Numbers of a map, with its padding.
inline int64_t map_size(const ConvShape& s) { return int64_t{s.height} * s.row_length(); }

// Pooled rows and columns of a tile, such that its windows are not more than `most`.
void choose_tile(const ConvShape& s, int64_t most, int& rows, int& columns);

template <class T>
class Front {
 public:
  Front(const std::vector<GivenLayer<T>>& layers, const ImageKernels<T>& kernels);

  Front(const Front&) = delete;

  // images [B, C, H, W] -> features [B, O, H, W] of the last layer, or both with their channels
  // last. Returns false if it was interrupted.
  bool run(const T* images, int64_t num_images, bool channels_last, T* features, int threads,
           ConvPath path, const Interrupt::Poll& poll, std::vector<LayerReport>& reports) const;

  // Images that it has in memory at once.
  int64_t images_at_once() const { return images_at_once_; }

  // Takes other weights and biases, in the shapes of those that it was made of; while no other
  // thread uses it.
  void set_weights(const std::vector<const T*>& weights, const std::vector<const T*>& biases);

  struct OwnedLayer {
    ConvLayer<T> layer;
    int padding, num_blocks, tile_rows, tile_columns;
    AlignedArray<T> weights, bias;
  };
  const std::vector<OwnedLayer>& layers() const { return layers_; }
  const ImageKernels<T>& kernels() const { return kernels_; }

  // One image, channels first or last, into the middle of a padded map.
  static void load_row(const OwnedLayer& first, const T* image, bool channels_last, int64_t row,
                       T* map);

 private:
  // The maps of all layers, and the packed one of the layer that runs. Fresh pages cost as much
  // as small layers, so the memory is kept from call to call.
  struct Memory {
    Memory(const Front& front, int64_t num_images, int threads);

    int64_t num_images;
    std::vector<AlignedArray<T>> maps;
    AlignedArray<T> value;
    AlignedArray<int32_t> position, start;
    std::vector<AlignedArray<T>> scratch;  // one per thread
  };

  // The memory that the last call left, if no other call has it and it is large enough.
  std::unique_ptr<Memory> take_memory(int64_t num_images, int threads) const;

  int64_t image_size() const;
  int64_t largest_map() const;
  int64_t most_starts() const;

  // Where a layer writes: its first image, and how far it is from one image to the next.
  struct Destination {
    MapWriter<T> first;
    int64_t image_step;
  };
  bool run_layer(size_t layer, int64_t count, Memory& memory, const Destination& to, int threads,
                 ConvPath path, const Interrupt::Poll& poll, LayerReport& report) const;
  // Packs the maps of a layer; those of the first one are made of images before.
  bool pack(size_t layer, int64_t count, const T* images, bool channels_last, Memory& memory,
            int threads, const Interrupt::Poll& poll) const;

  const ImageKernels<T>& kernels_;
  std::vector<OwnedLayer> layers_;
  int64_t images_at_once_;
  mutable std::mutex keeping_;
  mutable std::unique_ptr<Memory> kept_;
};

}  // namespace evonet
