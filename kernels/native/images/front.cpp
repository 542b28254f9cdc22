// front.cpp: runs layers of convolutions on some images at a time. A layer first packs the rows of
// its input, then computes tiles: all images with one block of channels before the next block, so
// that the block's weights stay in a cache.
#include "native/images/front.h"

#include <algorithm>
#include <utility>

namespace evonet {

namespace {

constexpr int64_t kBytesAtOnce = int64_t{256} << 20;
constexpr int64_t kRowsPerTask = 16;

// Nanoseconds, roughly: of a number that is packed, of a window of a block of channels and of one
// of its non-zeros. Waking other threads takes about as long as half of kWorthWaking.
constexpr double kNumberCost = 0.3, kWindowCost = 15, kTermCost = 1.5, kWorthWaking = 40e3;

int worth_waking(int threads, double nanoseconds) {
  return nanoseconds < kWorthWaking ? 1 : threads;
}

// As few vectors as hold the channels: 1, 2 or 4.
template <class T>
int choose_block(const ConvShape& shape, const ImageKernels<T>& kernels) {
  int block = kernels.vector_width;
  while (block < shape.num_outputs && block < kernels.max_block) block *= 2;
  return block;
}

// Weights [O, taps] and biases [O] as blocks of channels, 0 behind the last one.
template <class T>
void pack_weights(const ConvShape& s, int block, const T* weights, const T* bias, T* packed,
                  T* packed_bias) {
  for (int first = 0; first < s.num_outputs; first += block) {
    for (int c = 0; c < block; ++c) {
      const int o = first + c;
      const bool real = o < s.num_outputs;
      packed_bias[o] = real ? bias[o] : T(0);
      for (int tap = 0; tap < s.num_taps(); ++tap) {
        packed[int64_t{tap} * block + c] = real ? weights[int64_t{o} * s.num_taps() + tap] : T(0);
      }
    }
    packed += int64_t{s.num_taps()} * block;
  }
}

}  // namespace

void choose_tile(const ConvShape& s, int64_t most, int& rows, int& columns) {
  const auto windows = [&](int n) { return int64_t{n - 1} * s.pool_stride + s.pool_size; };
  rows = columns = 1;
  while (columns < s.out_width && windows(rows) * windows(columns + 1) <= most) ++columns;
  while (rows < s.out_height && windows(rows + 1) * windows(columns) <= most) ++rows;
}

template <class T>
Front<T>::Front(const std::vector<GivenLayer<T>>& layers, const ImageKernels<T>& kernels)
    : kernels_(kernels) {
  int64_t bytes = 0;
  for (const GivenLayer<T>& given : layers) {
    const ConvShape& s = given.shape;
    const int block = choose_block(s, kernels);
    const int blocks = (s.num_outputs + block - 1) / block;
    OwnedLayer owned{{s, block, nullptr, nullptr},
                     given.padding,
                     blocks,
                     1,
                     1,
                     AlignedArray<T>(int64_t{blocks} * s.num_taps() * block),
                     AlignedArray<T>(int64_t{blocks} * block)};
    choose_tile(s, kernels.max_scratch, owned.tile_rows, owned.tile_columns);
    pack_weights(s, block, given.weights, given.bias, owned.weights.data(), owned.bias.data());
    owned.layer.weights = owned.weights.data();
    owned.layer.bias = owned.bias.data();
    bytes += map_size(s) * (2 * int64_t{sizeof(T)} + 4);
    layers_.push_back(std::move(owned));
  }
  images_at_once_ = std::max<int64_t>(1, kBytesAtOnce / std::max<int64_t>(1, bytes));
}

template <class T>
void Front<T>::set_weights(const std::vector<const T*>& weights,
                           const std::vector<const T*>& biases) {
  for (size_t l = 0; l < layers_.size(); ++l) {
    const OwnedLayer& owned = layers_[l];
    pack_weights(owned.layer.shape, owned.layer.block, weights[l], biases[l], owned.weights.data(),
                 owned.bias.data());
  }
}

template <class T>
void Front<T>::load_row(const OwnedLayer& first, const T* image, bool channels_last, int64_t y,
                        T* map) {
  const ConvShape& s = first.layer.shape;
  const int pad = first.padding;
  const int64_t height = s.height - 2 * pad, width = s.width - 2 * pad;
  T* const to = map + ((y + pad) * s.width + pad) * s.channels;
  if (channels_last) {
    std::copy_n(image + y * width * s.channels, width * s.channels, to);
    return;
  }
  const T* const from = image + y * width;
  // Some channels at a time, so that a line of the map is written while it is in a cache.
  for (int begin = 0; begin < s.channels; begin += 16) {
    const int end = std::min(begin + 16, s.channels);
    for (int64_t x = 0; x < width; ++x) {
      for (int c = begin; c < end; ++c) to[x * s.channels + c] = from[c * height * width + x];
    }
  }
}

template <class T>
int64_t Front<T>::image_size() const {
  const ConvShape& s = layers_.front().layer.shape;
  const int border = 2 * layers_.front().padding;
  return int64_t{s.channels} * (s.height - border) * (s.width - border);
}

template <class T>
bool Front<T>::pack(size_t l, int64_t count, const T* images, bool channels_last, Memory& memory,
                    int threads, const Interrupt::Poll& poll) const {
  const OwnedLayer& owned = layers_[l];
  const ConvShape& s = owned.layer.shape;
  const int64_t rows = count * s.height, length = s.row_length();
  T* const dense = memory.maps[l].data();
  const auto nanoseconds = kNumberCost * double(rows) * double(length);
  return parallel_for(
      worth_waking(threads, nanoseconds), (rows + kRowsPerTask - 1) / kRowsPerTask,
      [&](int, int64_t task, Interrupt& interrupt) {
        const int64_t end = std::min(rows, (task + 1) * kRowsPerTask);
        for (int64_t row = task * kRowsPerTask; row < end; ++row) {
          if (interrupt.requested()) return;
          const int64_t image = row / s.height, y = row % s.height - owned.padding;
          if (l == 0 && y >= 0 && y < s.height - 2 * owned.padding) {
            load_row(owned, images + image * image_size(), channels_last, y,
                     dense + image * map_size(s));
          }
          kernels_.pack_row(
              dense + row * length, s.width, s.channels, memory.value.data() + row * length,
              memory.position.data() + row * length, memory.start.data() + row * (s.width + 1));
        }
      },
      poll);
}

template <class T>
Front<T>::Memory::Memory(const Front& front, int64_t num_images, int threads)
    : num_images(num_images),
      value(num_images * front.largest_map()),
      position(num_images * front.largest_map()),
      start(num_images * front.most_starts()) {
  int64_t most_sums = 0;
  for (const OwnedLayer& owned : front.layers_) {
    const ConvShape& s = owned.layer.shape;
    maps.emplace_back(num_images * map_size(s));
    std::fill_n(maps.back().data(), num_images * map_size(s), T(0));  // padding stays so
    const int64_t windows =
        std::max<int64_t>(front.kernels_.max_scratch, int64_t{s.pool_size} * s.pool_size);
    most_sums = std::max(most_sums, windows * owned.layer.block);
  }
  for (int i = 0; i < threads; ++i) scratch.emplace_back(most_sums);
}

template <class T>
int64_t Front<T>::largest_map() const {
  int64_t largest = 0;
  for (const OwnedLayer& owned : layers_) {
    largest = std::max(largest, map_size(owned.layer.shape));
  }
  return largest;
}

template <class T>
int64_t Front<T>::most_starts() const {
  int64_t most = 0;
  for (const OwnedLayer& owned : layers_) {
    const ConvShape& s = owned.layer.shape;
    most = std::max(most, int64_t{s.height} * (s.width + 1));
  }
  return most;
}

template <class T>
std::unique_ptr<typename Front<T>::Memory> Front<T>::take_memory(int64_t num_images,
                                                                 int threads) const {
  std::unique_ptr<Memory> memory;
  {
    const std::lock_guard<std::mutex> lock(keeping_);
    memory = std::move(kept_);
  }
  const auto scratches = static_cast<size_t>(threads);
  if (!memory || memory->num_images < num_images || memory->scratch.size() < scratches) {
    memory = nullptr;  // before the new one, so that both are never there
    memory = std::make_unique<Memory>(*this, num_images, threads);
  }
  return memory;
}

template <class T>
bool Front<T>::run(const T* images, int64_t num_images, bool channels_last, T* features,
                   int threads, ConvPath path, const Interrupt::Poll& poll,
                   std::vector<LayerReport>& reports) const {
  reports.assign(layers_.size(), {});
  if (num_images == 0) return true;
  const int64_t most = std::min(num_images, images_at_once_);
  std::unique_ptr<Memory> memory = take_memory(most, threads);
  const ConvShape& last = layers_.back().layer.shape;
  const int64_t pixels = int64_t{last.out_height} * last.out_width;
  bool done = true;
  for (int64_t begin = 0; done && begin < num_images; begin += most) {
    const int64_t count = std::min(most, num_images - begin);
    for (size_t l = 0; done && l < layers_.size(); ++l) {
      Destination to;
      if (l + 1 == layers_.size()) {
        to.image_step = last.num_outputs * pixels;
        to.first = {features + begin * to.image_step, last.out_width, 1, pixels};
        if (channels_last) {
          to.first = {to.first.data, int64_t{last.out_width} * last.num_outputs, last.num_outputs,
                      1};
        }
      } else {
        const ConvShape& next = layers_[l + 1].layer.shape;
        const int pad = layers_[l + 1].padding;
        to.image_step = map_size(next);
        to.first = {memory->maps[l + 1].data() + (int64_t{pad} * next.width + pad) * next.channels,
                    next.row_length(), next.channels, 1};
      }
      done = pack(l, count, images + begin * image_size(), channels_last, *memory, threads, poll) &&
             run_layer(l, count, *memory, to, threads, path, poll, reports[l]);
    }
  }
  const std::lock_guard<std::mutex> lock(keeping_);
  kept_ = std::move(memory);
  return done;
}

template <class T>
bool Front<T>::run_layer(size_t l, int64_t count, Memory& memory, const Destination& to,
                         int threads, ConvPath path, const Interrupt::Poll& poll,
                         LayerReport& report) const {
  const OwnedLayer& owned = layers_[l];
  const ConvShape& s = owned.layer.shape;
  const T* const dense = memory.maps[l].data();
  const T* const value = memory.value.data();
  const int32_t *const position = memory.position.data(), *const start = memory.start.data();
  int64_t nonzeros = 0;
  for (int64_t row = 0; row < count * s.height; ++row) {
    nonzeros += start[row * (s.width + 1) + s.width];
  }
  report.nonzeros += nonzeros;
  report.inputs += count * map_size(s);
  const double windows = double(count) * s.conv_height * s.conv_width * owned.num_blocks;
  const double terms = double(s.num_taps()) * double(nonzeros) / double(count * map_size(s));
  std::mutex adding;
  const int64_t tiles_down = (s.out_height + owned.tile_rows - 1) / owned.tile_rows;
  return parallel_for(
      worth_waking(threads, windows * (kWindowCost + kTermCost * terms)),
      owned.num_blocks * count * tiles_down,
      [&](int worker, int64_t task, Interrupt& interrupt) {
        if (interrupt.requested()) return;
        const int block = static_cast<int>(task / (count * tiles_down));
        const int64_t image = task / tiles_down % count;
        const int top = static_cast<int>(task % tiles_down) * owned.tile_rows;
        const int64_t at = image * map_size(s);
        const PackedMap<T> map{dense + at, value + at, position + at,
                               start + image * s.height * (s.width + 1)};
        MapWriter<T> out = to.first;
        out.data += image * to.image_step;
        ConvCounts counts;
        for (int left = 0; left < s.out_width; left += owned.tile_columns) {
          const ConvTile tile{top, std::min(top + owned.tile_rows, s.out_height), left,
                              std::min(left + owned.tile_columns, s.out_width)};
          kernels_.convolve(owned.layer, block, map, tile, path, memory.scratch[worker].data(), out,
                            counts);
        }
        const std::lock_guard<std::mutex> lock(adding);
        report.counts.sparse_terms += counts.sparse_terms;
        report.counts.dense_terms += counts.dense_terms;
        report.counts.all_terms += counts.all_terms;
      },
      poll);
}

template class Front<float>;
template class Front<double>;

}  // namespace evonet
