// bind_functions.cpp: single activations and aggregations, from Python.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "native/bind/bindings.h"
#include "native/isa/isa.h"
#include "nodes/function_ids.h"

using namespace nb::literals;

namespace evonet {

namespace {

template <class T>
nb::object activate(int id, In<T> x, const std::string& simd) {
  check_shape("x", x, {kAnySize});
  if (id < 0 || (id >= NUM_ACTIVATIONS && custom_activation<T>(id) == nullptr)) {
    refuse("id", "is not that of an activation: " + std::to_string(id));
  }
  const auto count = static_cast<int64_t>(x.shape(0));
  Buffer<T> y(count + 64);
  std::copy(x.data(), x.data() + count, y.data.get());
  std::fill(y.data.get() + count, y.data.get() + count + 64, T(0));
  find_isa(simd).kernels(T()).forward.activate(id, y.data.get(), count);
  return to_numpy(y, {static_cast<size_t>(count)});
}

template <class T>
nb::object aggregate(int id, In<T> weights, Array<const T, 2> values, const std::string& simd) {
  const ForwardKernels<T>& kernels = find_isa(simd).kernels(T()).forward;
  const int64_t width = kernels.vector_width;
  const auto num_links = static_cast<int64_t>(weights.shape(0));
  check_shape("weights", weights, {kAnySize});
  check_shape("values", values, {num_links, kAnySize});
  check_number("links", num_links, 0, kMostInt32);
  if (id < 0 || (id >= NUM_AGGREGATIONS && custom_aggregation<T>(id) == nullptr)) {
    refuse("id", "is not that of an aggregation: " + std::to_string(id));
  }
  Buffer<T> out(static_cast<int64_t>(values.shape(1)));
  std::vector<T> block(num_links * width), scratch(num_links), joined(width);
  std::vector<int32_t> source(num_links);
  std::iota(source.begin(), source.end(), 0);
  for (int64_t begin = 0; begin < out.size; begin += width) {
    const int64_t count = std::min(width, out.size - begin);
    for (int64_t e = 0; e < num_links; ++e) {
      const T* row = values.data() + e * out.size + begin;
      std::copy(row, row + count, block.data() + e * width);
    }
    kernels.aggregate(id, weights.data(), block.data(), source.data(), num_links, scratch.data(),
                      joined.data());
    std::copy(joined.data(), joined.data() + count, out.data.get() + begin);
  }
  return to_numpy(out);
}

template <class T>
void bind_functions_of(nb::module_& m) {
  m.def("activate", &activate<T>, "id"_a, "x"_a.noconvert(), "simd"_a,
        "Applies an activation to every element.");
  m.def("aggregate", &aggregate<T>, "id"_a, "weights"_a.noconvert(), "values"_a.noconvert(),
        "simd"_a, "Aggregates weights [n] times values [n, B] to [B].");
}

}  // namespace

void bind_functions(nb::module_& m) {
  bind_functions_of<float>(m);
  bind_functions_of<double>(m);
}

}  // namespace evonet
