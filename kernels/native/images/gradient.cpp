// gradient.cpp: a worker takes one image after the other through all layers and back, in memory of
// one image; see reverse.h.
#include "native/images/gradient.h"

#include <algorithm>
#include <memory>

#include "nodes/function_ids.h"

namespace evonet {

namespace {

// Elements that vectors may read and write behind the last one.
constexpr int64_t kRoom = 64;

// A layer on the way there: sums and biases alone, and its weights in rows for the way back.
template <class T>
struct OpenLayer {
  ConvLayer<T> plain;
  int tile_rows, tile_columns;
  int64_t row_step, num_sums;
  AlignedArray<T> rows;   // [O, kernel_height, row_step]
  AlignedArray<T> lanes;  // [lanes, num_sums]: weights as rows, then biases
};

template <class T>
OpenLayer<T> open_layer(const typename Front<T>::OwnedLayer& owned, const ImageKernels<T>& kernels,
                        int64_t num_lanes) {
  const ConvShape& s = owned.layer.shape;
  const int64_t run = s.run_length(), width = kernels.vector_width;
  const int64_t row_step = (run + width - 1) / width * width;
  const int64_t num_rows = int64_t{s.num_outputs} * s.kernel_height;
  const int64_t num_sums = num_rows * row_step + (s.num_outputs + width - 1) / width * width;
  OpenLayer<T> open{owned.layer,
                    1,
                    1,
                    row_step,
                    num_sums,
                    AlignedArray<T>(num_rows * row_step),
                    AlignedArray<T>(num_lanes * num_sums)};
  ConvShape& plain = open.plain.shape;
  plain.activation = ACT_IDENTITY;
  plain.pool = kNoPool;
  plain.pool_size = plain.pool_stride = 1;
  plain.out_height = plain.conv_height;
  plain.out_width = plain.conv_width;
  choose_tile(plain, kernels.max_scratch, open.tile_rows, open.tile_columns);
  std::fill_n(open.rows.data(), num_rows * row_step, T(0));
  std::fill_n(open.lanes.data(), num_lanes * num_sums, T(0));
  const int block = owned.layer.block;
  for (int64_t o = 0; o < s.num_outputs; ++o) {
    const T* const from = owned.layer.weights + o / block * s.num_taps() * block + o % block;
    for (int64_t tap = 0; tap < s.num_taps(); ++tap) {
      open.rows.data()[(o * s.kernel_height + tap / run) * row_step + tap % run] =
          from[tap * block];
    }
  }
  return open;
}

// One layer of one image, as a worker has it.
template <class T>
struct ImageLayer {
  explicit ImageLayer(const ConvShape& s)
      : map(map_size(s) + kRoom),
        value(map_size(s) + kRoom),
        position(map_size(s) + kRoom),
        start(int64_t{s.height} * (s.width + 1)),
        sums(num_values(s) + kRoom),
        values(num_values(s) + kRoom) {
    std::fill_n(map.data(), map_size(s) + kRoom, T(0));  // padding stays so
    std::fill_n(sums.data(), num_values(s) + kRoom, T(0));
    std::fill_n(values.data(), num_values(s) + kRoom, T(0));
  }

  static int64_t num_values(const ConvShape& s) {
    return int64_t{s.conv_height} * s.conv_width * s.num_outputs;
  }

  AlignedArray<T> map, value;
  AlignedArray<int32_t> position, start;
  AlignedArray<T> sums, values;
};

template <class T>
class Worker {
 public:
  Worker(const Front<T>& front, std::vector<OpenLayer<T>>& open, const GradientKernels<T>& slopes,
         bool inputs)
      : front_(front),
        open_(open),
        slopes_(slopes),
        inputs_(inputs),
        scratch_(most_sums(front)),
        adjoint_(most(front, ImageLayer<T>::num_values) + kRoom),
        joined_(3 * (most(front, [](const ConvShape& s) { return s.num_outputs; }) + kRoom)),
        value_(most(front, row_size) + kRoom),
        position_(most(front, row_size) + kRoom),
        start_(most(front, [](const ConvShape& s) { return s.conv_width; }) + 1),
        offset_(most(front, [](const ConvShape& s) { return s.num_outputs; })) {
    for (auto& d_map : d_maps_) {
      d_map = std::make_unique<AlignedArray<T>>(most(front, map_size) + kRoom);
    }
    for (const auto& owned : front.layers()) layers_.emplace_back(owned.layer.shape);
  }

  // Adds the slopes of an image to a lane. from is the adjoint of its features.
  void run(const T* image, bool channels_last, const MapWriter<const T>& from, int64_t lane,
           const MapWriter<T>& d_image) {
    forward(image, channels_last);
    MapWriter<const T> above = from;
    int turn = 0;
    for (size_t l = layers_.size(); l-- > 0; turn ^= 1) {
      T* const d_map = l > 0 || inputs_ ? d_maps_[turn]->data() : nullptr;
      back(l, above, lane, d_map);
      if (d_map == nullptr) continue;
      const ConvShape& s = shape(l);
      const int pad = front_.layers()[l].padding;
      above = {d_map + (int64_t{pad} * s.width + pad) * s.channels, s.row_length(), s.channels, 1};
    }
    if (!inputs_) return;
    const ConvShape& s = shape(0);
    const int pad = front_.layers()[0].padding;
    for (int y = 0; y < s.height - 2 * pad; ++y) {
      for (int x = 0; x < s.width - 2 * pad; ++x) {
        for (int c = 0; c < s.channels; ++c) {
          T d = above.data[y * above.row_step + x * above.step + c];
          front_.kernels().join(&d, 1, 1);
          d_image.data[y * d_image.row_step + x * d_image.step + c * d_image.channel_step] = d;
        }
      }
    }
  }

 private:
  template <class Size>
  static int64_t most(const Front<T>& front, Size size) {
    int64_t found = 0;
    for (const auto& owned : front.layers()) {
      found = std::max<int64_t>(found, size(owned.layer.shape));
    }
    return found;
  }

  static int64_t row_size(const ConvShape& s) { return int64_t{s.conv_width} * s.num_outputs; }

  static int64_t most_sums(const Front<T>& front) {
    int64_t found = 0;
    for (const auto& owned : front.layers()) {
      found = std::max<int64_t>(found, front.kernels().max_scratch * owned.layer.block);
    }
    return found;
  }

  const ConvShape& shape(size_t l) const { return front_.layers()[l].layer.shape; }

  void forward(const T* image, bool channels_last) {
    const auto& first = front_.layers().front();
    for (int64_t y = 0; y < first.layer.shape.height - 2 * first.padding; ++y) {
      Front<T>::load_row(first, image, channels_last, y, layers_[0].map.data());
    }
    for (size_t l = 0; l < layers_.size(); ++l) {
      sum(l);
      const ConvShape& s = shape(l);
      ImageLayer<T>& here = layers_[l];
      MapWriter<T> out{adjoint_.data(), int64_t{s.out_width} * s.num_outputs, s.num_outputs, 1};
      if (l + 1 < layers_.size()) {
        const ConvShape& next = shape(l + 1);
        const int pad = front_.layers()[l + 1].padding;
        out = {layers_[l + 1].map.data() + (int64_t{pad} * next.width + pad) * next.channels,
               next.row_length(), next.channels, 1};
      }  // of the last layer only its values are of interest
      front_.kernels().finish(s, here.sums.data(), here.values.data(), joined_.data(), out);
    }
  }

  // What the activations of a layer get.
  void sum(size_t l) {
    const OpenLayer<T>& open = open_[l];
    const ConvShape& s = open.plain.shape;
    ImageLayer<T>& here = layers_[l];
    for (int64_t row = 0; row < s.height; ++row) {
      const int64_t at = row * s.row_length();
      front_.kernels().pack_row(here.map.data() + at, s.width, s.channels, here.value.data() + at,
                                here.position.data() + at, here.start.data() + row * (s.width + 1));
    }
    const PackedMap<T> map{here.map.data(), here.value.data(), here.position.data(),
                           here.start.data()};
    const MapWriter<T> out{here.sums.data(), row_size(s), s.num_outputs, 1};
    ConvCounts counts;
    for (int block = 0; block < front_.layers()[l].num_blocks; ++block) {
      for (int top = 0; top < s.out_height; top += open.tile_rows) {
        for (int left = 0; left < s.out_width; left += open.tile_columns) {
          const ConvTile tile{top, std::min(top + open.tile_rows, s.out_height), left,
                              std::min(left + open.tile_columns, s.out_width)};
          front_.kernels().convolve(open.plain, block, map, tile, ConvPath::kAuto, scratch_.data(),
                                    out, counts);
        }
      }
    }
  }

  void back(size_t l, const MapWriter<const T>& above, int64_t lane, T* d_map) {
    const ConvShape& s = shape(l);
    ImageLayer<T>& here = layers_[l];
    OpenLayer<T>& open = open_[l];
    front_.kernels().unpool(s, here.values.data(), above, adjoint_.data(), joined_.data());
    slopes_.scale(s.activation, here.sums.data(), here.values.data(), adjoint_.data(),
                  ImageLayer<T>::num_values(s));
    if (d_map != nullptr) std::fill_n(d_map, map_size(s) + kRoom, T(0));
    T* const sums = open.lanes.data() + lane * open.num_sums;
    front_.kernels().reverse(
        s, {here.map.data(), here.start.data(), adjoint_.data(), open.rows.data(), open.row_step,
            sums, sums + int64_t{s.num_outputs} * s.kernel_height * open.row_step, d_map,
            value_.data(), position_.data(), start_.data(), offset_.data()});
  }

  const Front<T>& front_;
  std::vector<OpenLayer<T>>& open_;
  const GradientKernels<T>& slopes_;
  bool inputs_;
  std::vector<ImageLayer<T>> layers_;
  AlignedArray<T> scratch_, adjoint_, joined_, value_;
  AlignedArray<int32_t> position_, start_;
  AlignedArray<int64_t> offset_;
  std::unique_ptr<AlignedArray<T>> d_maps_[2];
};

}  // namespace

template <class T>
bool differentiate_front(const Front<T>& front, const GradientKernels<T>& slopes, const T* images,
                         const T* adjoint, int64_t num_images, bool channels_last, int threads,
                         const Interrupt::Poll& poll, const std::vector<LayerSlopes<T>>& out,
                         T* d_images) {
  const int64_t num_lanes = std::clamp<int64_t>(num_images, 1, kGradientLanes);
  std::vector<OpenLayer<T>> open;
  for (const auto& owned : front.layers()) {
    open.push_back(open_layer<T>(owned, front.kernels(), num_lanes));
  }
  const auto& first = front.layers().front();
  const ConvShape& in = first.layer.shape;
  const ConvShape& last = front.layers().back().layer.shape;
  const int64_t height = in.height - 2 * first.padding, width = in.width - 2 * first.padding;
  const int64_t image_size = in.channels * height * width;
  const int64_t pixels = int64_t{last.out_height} * last.out_width;
  const int64_t features = pixels * last.num_outputs;
  const int used = static_cast<int>(std::clamp<int64_t>(threads, 1, num_lanes));
  std::vector<std::unique_ptr<Worker<T>>> workers;
  for (int i = 0; i < used; ++i) {
    workers.push_back(std::make_unique<Worker<T>>(front, open, slopes, d_images != nullptr));
  }
  const bool done = parallel_for(
      used, num_lanes,
      [&](int worker, int64_t lane, Interrupt& interrupt) {
        for (int64_t b = lane; b < num_images; b += kGradientLanes) {
          if (interrupt.requested()) return;
          const T* const d = adjoint + b * features;
          T* const to = d_images == nullptr ? nullptr : d_images + b * image_size;
          MapWriter<const T> from{d, last.out_width, 1, pixels};
          MapWriter<T> d_image{to, width, 1, height * width};
          if (channels_last) {
            from = {d, int64_t{last.out_width} * last.num_outputs, last.num_outputs, 1};
            d_image = {to, width * in.channels, in.channels, 1};
          }
          workers[worker]->run(images + b * image_size, channels_last, from, lane, d_image);
        }
      },
      poll);
  if (!done) return false;
  for (size_t l = 0; l < open.size(); ++l) {
    const ConvShape& s = front.layers()[l].layer.shape;
    T* const sums = open[l].lanes.data();
    front.kernels().join(sums, num_lanes, open[l].num_sums);
    const int64_t rows = int64_t{s.num_outputs} * s.kernel_height, run = s.run_length();
    for (int64_t row = 0; row < rows; ++row) {
      std::copy_n(sums + row * open[l].row_step, run, out[l].weights + row * run);
    }
    std::copy_n(sums + rows * open[l].row_step, s.num_outputs, out[l].bias);
  }
  return true;
}

#define EVONET_DIFFERENTIATE(T)                                                              \
  template bool differentiate_front<T>(const Front<T>&, const GradientKernels<T>&, const T*, \
                                       const T*, int64_t, bool, int, const Interrupt::Poll&, \
                                       const std::vector<LayerSlopes<T>>&, T*);
EVONET_DIFFERENTIATE(float)
EVONET_DIFFERENTIATE(double)
#undef EVONET_DIFFERENTIATE

}  // namespace evonet
