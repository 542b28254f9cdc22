// bind_images.cpp: fronts for images, from Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <string>
#include <vector>

#include "learning/optimizers.h"
#include "native/bind/bindings.h"
#include "native/images/front.h"
#include "native/images/gradient.h"
#include "nodes/function_ids.h"

using namespace nb::literals;

namespace evonet {

namespace {

constexpr int64_t kMostSide = 1 << 16;

template <class T>
class ImageFront {
 public:
  using Weights = Array<const T, 4>;
  using Images = Array<const T, 4>;

  // sizes [layers, 6]: stride, padding, activation, pool, its size and stride; for each layer.
  ImageFront(int channels, int height, int width, Array<const int32_t, 2> sizes,
             const std::vector<Weights>& weights, const std::vector<In<T>>& biases, int threads,
             const std::string& simd)
      : threads_(usable_threads(threads)),
        input_{channels, height, width},
        slopes_(find_isa(simd).kernels(T()).gradient),
        front_(read(sizes, weights, biases), find_isa(simd).kernels(T()).images) {}

  nb::list operator()(Images images, Array<T, 4> features, bool channels_last, int path) const {
    const auto count = static_cast<int64_t>(images.shape(0));
    check_maps("images", images, count, input_, channels_last);
    check_maps("features", features, count, output_, channels_last);
    check_number("path", path, 0, 2);
    std::vector<LayerReport> reports;
    run_interruptibly([&] {
      return front_.run(images.data(), count, channels_last, features.data(), threads_,
                        static_cast<ConvPath>(path), python_signal, reports);
    });
    nb::list found;
    for (const LayerReport& r : reports) {
      found.append(nb::make_tuple(r.inputs, r.nonzeros, r.counts.all_terms, r.counts.sparse_terms,
                                  r.counts.dense_terms));
    }
    return found;
  }

  // Images and the derivatives of a loss by their features -> those by weights [O, kernel_height,
  // kernel_width, C] and biases [O] of each layer, and by images unless d_images is empty.
  void gradient(Images images, Images adjoint, bool channels_last,
                const std::vector<Array<T, 4>>& d_weights, const std::vector<Out<T>>& d_biases,
                Array<T, 4> d_images) const {
    const auto count = static_cast<int64_t>(images.shape(0));
    const bool inputs = d_images.shape(0) > 0;
    check_maps("images", images, count, input_, channels_last);
    check_maps("adjoint", adjoint, count, output_, channels_last);
    if (inputs) check_maps("d_images", d_images, count, input_, channels_last);
    check_layers(d_weights, d_biases);
    std::vector<LayerSlopes<T>> out;
    for (size_t l = 0; l < d_weights.size(); ++l) {
      const int activation = front_.layers()[l].layer.shape.activation;
      if (activation >= NUM_ACTIVATIONS && custom_activation_slope<T>(activation) == nullptr) {
        refuse("activation", "is a custom one without a derivative");
      }
      out.push_back({d_weights[l].data(), d_biases[l].data()});
    }
    run_interruptibly([&] {
      return differentiate_front(front_, slopes_, images.data(), adjoint.data(), count,
                                 channels_last, threads_, python_signal, out,
                                 inputs ? d_images.data() : nullptr);
    });
  }

  // Other weights of the same shapes; nothing else may use the front meanwhile.
  void set_weights(const std::vector<Weights>& weights, const std::vector<In<T>>& biases) {
    check_layers(weights, biases);
    std::vector<const T*> w, b;
    for (size_t l = 0; l < weights.size(); ++l) {
      w.push_back(weights[l].data());
      b.push_back(biases[l].data());
    }
    front_.set_weights(w, b);
  }

  std::vector<int> output_shape() const { return output_; }

 private:
  template <class W, class B>
  void check_layers(const std::vector<W>& weights, const std::vector<B>& biases) const {
    const auto layers = static_cast<int64_t>(front_.layers().size());
    check_number("weights", static_cast<int64_t>(weights.size()), layers, layers);
    check_number("biases", static_cast<int64_t>(biases.size()), layers, layers);
    for (int64_t l = 0; l < layers; ++l) {
      const ConvShape& s = front_.layers()[l].layer.shape;
      check_shape("weights", weights[l],
                  {s.num_outputs, s.kernel_height, s.kernel_width, s.channels});
      check_shape("bias", biases[l], {s.num_outputs});
    }
  }

  template <class Maps>
  static void check_maps(const char* name, const Maps& maps, int64_t count,
                         const std::vector<int>& shape, bool channels_last) {
    if (channels_last) {
      check_shape(name, maps, {count, shape[1], shape[2], shape[0]});
    } else {
      check_shape(name, maps, {count, shape[0], shape[1], shape[2]});
    }
  }

  std::vector<GivenLayer<T>> read(Array<const int32_t, 2> sizes,
                                  const std::vector<Weights>& weights,
                                  const std::vector<In<T>>& biases) {
    const auto layers = static_cast<int64_t>(weights.size());
    check_number("layers", layers, 1, 1000);
    check_shape("sizes", sizes, {layers, 6});
    check_number("biases", static_cast<int64_t>(biases.size()), layers, layers);
    for (int i = 0; i < 3; ++i) check_number("input", input_[i], 1, kMostSide);
    std::vector<GivenLayer<T>> given;
    int64_t channels = input_[0], height = input_[1], width = input_[2];
    for (int64_t l = 0; l < layers; ++l) {
      const int32_t* const row = sizes.data() + 6 * l;
      check_number("stride", row[0], 1, kMostSide);
      check_number("padding", row[1], 0, kMostSide);
      if (row[2] < 0 || (row[2] >= NUM_ACTIVATIONS && custom_activation<T>(row[2]) == nullptr)) {
        refuse("activation", "is not that of an activation: " + std::to_string(row[2]));
      }
      check_number("pool", row[3], kNoPool, kAveragePool);
      check_number("pool_size", row[4], 1, 64);
      check_number("pool_stride", row[5], 1, 64);
      check_shape("weights", weights[l], {kAnySize, kAnySize, kAnySize, channels});
      const auto outputs = static_cast<int64_t>(weights[l].shape(0));
      const auto kernel_height = static_cast<int64_t>(weights[l].shape(1));
      const auto kernel_width = static_cast<int64_t>(weights[l].shape(2));
      check_shape("bias", biases[l], {outputs});
      check_number("outputs", outputs, 1, kMostSide);
      height += 2 * row[1];
      width += 2 * row[1];
      check_number("kernel_height", kernel_height, 1, height);
      check_number("kernel_width", kernel_width, 1, width);
      check_number("numbers of a map", height * width * channels, 1, kMostInt32);
      check_number("numbers of a window", kernel_height * kernel_width * channels, 1, kMostInt32);
      const int64_t conv_height = (height - kernel_height) / row[0] + 1;
      const int64_t conv_width = (width - kernel_width) / row[0] + 1;
      check_number("pool_size", row[4], 1, std::min(conv_height, conv_width));
      const int64_t out_height = (conv_height - row[4]) / row[5] + 1;
      const int64_t out_width = (conv_width - row[4]) / row[5] + 1;
      const auto whole = [](int64_t x) { return static_cast<int>(x); };
      given.push_back(
          {{whole(channels), whole(height), whole(width), whole(outputs), whole(kernel_height),
            whole(kernel_width), row[0], row[2], row[3], row[4], row[5], whole(conv_height),
            whole(conv_width), whole(out_height), whole(out_width)},
           row[1],
           weights[l].data(),
           biases[l].data()});
      channels = outputs, height = out_height, width = out_width;
    }
    output_ = {static_cast<int>(channels), static_cast<int>(height), static_cast<int>(width)};
    return given;
  }

  int threads_;
  std::vector<int> input_, output_;
  const GradientKernels<T>& slopes_;
  Front<T> front_;
};

// One step of an optimiser for sums of gradients over samples; false if they are not finite.
template <class T>
bool step_front(int optimizer, In<double> rule, In<double> corrections, int64_t num_samples,
                const std::vector<Out<T>>& genes, const std::vector<Out<T>>& first,
                const std::vector<Out<T>>& second, const std::vector<Out<T>>& gradients,
                const std::vector<bool>& decays, const std::string& simd) {
  check_number("optimizer", optimizer, 0, NUM_OPTIMIZERS - 1);
  check_shape("rule", rule, {7});
  check_shape("corrections", corrections, {2});
  check_number("num_samples", num_samples, 1, std::numeric_limits<int64_t>::max());
  const auto count = static_cast<int64_t>(genes.size());
  check_number("first", static_cast<int64_t>(first.size()), count, count);
  check_number("second", static_cast<int64_t>(second.size()), count, count);
  check_number("gradients", static_cast<int64_t>(gradients.size()), count, count);
  check_number("decays", static_cast<int64_t>(decays.size()), count, count);
  std::vector<GeneGroup<T>> groups;
  for (int64_t i = 0; i < count; ++i) {
    const auto size = static_cast<int64_t>(genes[i].shape(0));
    check_shape("first", first[i], {size});
    check_shape("second", second[i], {size});
    check_shape("gradients", gradients[i], {size});
    groups.push_back(
        {genes[i].data(), first[i].data(), second[i].data(), gradients[i].data(), size, decays[i]});
  }
  const double* const r = rule.data();
  const LearningRule how{optimizer, r[0], r[1], r[2], r[3], r[4], r[5], r[6]};
  return find_isa(simd).kernels(T()).gradient.update(how, corrections.data(), num_samples,
                                                     groups.data(), static_cast<int>(count));
}

template <class T>
void bind_update(nb::module_& m, const char* name) {
  m.def(name, &step_front<T>, "optimizer"_a, "rule"_a.noconvert(), "corrections"_a.noconvert(),
        "num_samples"_a, "genes"_a.noconvert(), "first"_a.noconvert(), "second"_a.noconvert(),
        "gradients"_a.noconvert(), "decays"_a, "simd"_a, "One step of an optimiser, in place.");
}

template <class T>
void bind_front(nb::module_& m, const char* name) {
  using Class = ImageFront<T>;
  nb::class_<Class>(m, name)
      .def(nb::init<int, int, int, Array<const int32_t, 2>,
                    const std::vector<typename Class::Weights>&, const std::vector<In<T>>&, int,
                    const std::string&>(),
           "channels"_a, "height"_a, "width"_a, "sizes"_a.noconvert(), "weights"_a, "biases"_a,
           "threads"_a, "simd"_a)
      .def("__call__", &Class::operator(), "images"_a.noconvert(), "features"_a.noconvert(),
           "channels_last"_a, "path"_a,
           "Turns images [B, C, H, W] into features [B, O, H, W]; counts of each layer.")
      .def("gradient", &Class::gradient, "images"_a.noconvert(), "adjoint"_a.noconvert(),
           "channels_last"_a, "d_weights"_a.noconvert(), "d_biases"_a.noconvert(),
           "d_images"_a.noconvert(),
           "From derivatives by features to those by weights, biases and images.")
      .def("set_weights", &Class::set_weights, "weights"_a.noconvert(), "biases"_a.noconvert(),
           "Takes other weights and biases of the same shapes.")
      .def_prop_ro("output_shape", &Class::output_shape, "[O, H, W] of an image's features.");
}

}  // namespace

void bind_images(nb::module_& m) {
  bind_front<float>(m, "ImageFront32");
  bind_front<double>(m, "ImageFront64");
  bind_update<float>(m, "update32");
  bind_update<double>(m, "update64");
}

}  // namespace evonet
