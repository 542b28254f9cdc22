// bind_program.cpp: takes programs from Python, checks them, and keeps those that have an id.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "native/bind/bindings.h"
#include "native/program.h"
#include "nodes/function_ids.h"

using namespace nb::literals;

namespace evonet {
namespace {

constexpr int kNumIds = 256;

// A program for one type of numbers, and what it points to.
template <class T>
struct Owned {
  std::vector<T> constants;
  Program<T> program;

  Owned(const std::vector<Instruction>& code, In<double> values, In<int32_t> bounds, int result) {
    for (size_t i = 0; i < values.shape(0); ++i) {
      constants.insert(constants.end(), Program<T>::kLanes, static_cast<T>(values.data()[i]));
    }
    program = {code.data(),
               constants.data(),
               static_cast<int>(bounds.shape(0) / 3),
               {},
               static_cast<uint16_t>(result),
               false};
    for (const Instruction& i : code) {
      program.counts = program.counts || i.a == 1 || i.b == 1 || i.c == 1;
    }
    program.counts = program.counts || result == 1;
    std::copy_n(bounds.data(), bounds.shape(0), program.bounds);
  }
};

// A custom function. Kernels trust it, so it is checked when it is made.
class CustomFunction {
 public:
  using Code = Array<const uint16_t, 2>;

  CustomFunction(Code code, In<double> constants, In<int32_t> bounds, int result)
      : code_(read(code, constants.shape(0), bounds, result)),
        float32_(code_, constants, bounds, result),
        float64_(code_, constants, bounds, result) {}

  const Program<float>& program(float) const { return float32_.program; }
  const Program<double>& program(double) const { return float64_.program; }
  bool joins_links() const { return float32_.program.num_passes > 0 || float32_.program.counts; }

  template <class T>
  nb::object activate(In<T> x, const std::string& simd) const {
    check_shape("x", x, {kAnySize});
    if (joins_links()) throw nb::value_error("an aggregation is not an activation");
    const auto count = static_cast<int64_t>(x.shape(0));
    Buffer<T> y(count + 64);
    std::fill(std::copy_n(x.data(), count, y.data.get()), y.data.get() + count + 64, T(0));
    constexpr int64_t kMost = 512 / sizeof(T);
    for (int64_t i = 0; i < count; i += kMost) {
      find_isa(simd).kernels(T()).forward.activate_by(program(T()), y.data.get() + i,
                                                      static_cast<int>(std::min(kMost, count - i)));
    }
    return to_numpy(y, {static_cast<size_t>(count)});
  }

  // values [n, width] of all links, at least one.
  template <class T>
  nb::object aggregate(In<T> weights, Array<const T, 2> values, const std::string& simd) const {
    return join<T>(weights, values, simd, false);
  }

  // The same, for the derivative of an aggregation: [n, width].
  template <class T>
  nb::object terms(In<T> weights, Array<const T, 2> values, const std::string& simd) const {
    if (float32_.program.num_passes == 0) throw nb::value_error("not a derivative by links");
    return join<T>(weights, values, simd, true);
  }

 private:
  template <class T>
  nb::object join(In<T> weights, Array<const T, 2> values, const std::string& simd,
                  bool terms) const {
    const auto links = static_cast<int64_t>(weights.shape(0));
    const auto width = static_cast<int64_t>(values.shape(1));
    check_number("links", links, 1, kMostInt32);
    check_shape("weights", weights, {links});
    check_shape("values", values, {links, width});
    if (width < 1 || width > 64 || width == 2 || (width & (width - 1)) != 0) {
      refuse("values", "must have 1, 4, 8, 16, 32 or 64 columns, found " + std::to_string(width));
    }
    // Kernels take one sample or whole vectors.
    const int64_t padded = width == 1 ? 1 : std::max<int64_t>(width, 64 / sizeof(T));
    std::vector<T> rows(links * padded);
    for (int64_t i = 0; i < links; ++i) {
      std::copy_n(values.data() + i * width, width, rows.data() + i * padded);
    }
    std::vector<int32_t> source(links);
    for (int64_t i = 0; i < links; ++i) source[i] = static_cast<int32_t>(i);
    const auto& kernels = find_isa(simd).kernels(T()).forward;
    const auto run = terms ? kernels.terms_by : kernels.aggregate_by;
    const int64_t num_rows = terms ? links : 1;
    std::vector<T> joined(num_rows * padded);
    run(program(T()), rows.data(), source.data(), weights.data(), links, static_cast<int>(padded),
        joined.data());
    Buffer<T> out(num_rows * width);
    for (int64_t i = 0; i < num_rows; ++i) {
      std::copy_n(joined.data() + i * padded, width, out.data.get() + i * width);
    }
    if (!terms) return to_numpy(out, {static_cast<size_t>(width)});
    return to_numpy(out, {static_cast<size_t>(links), static_cast<size_t>(width)});
  }

  static std::vector<Instruction> read(Code code, size_t constants, In<int32_t> bounds,
                                       int result) {
    check_shape("code", code, {kAnySize, 5});
    check_shape("bounds", bounds, {kAnySize});
    const size_t count = code.shape(0), sections = bounds.shape(0);
    const auto is_register = [](int at) { return 0 <= at && at < kNumRegisters; };
    const auto is_operand = [&](int at) {
      return is_register(at) ||
             (at >= kFirstConstant && static_cast<size_t>(at - kFirstConstant) < constants);
    };
    bool fits = sections % 3 == 1 && sections <= 3 * kMostPasses + 1 && is_register(result) &&
                static_cast<size_t>(bounds.data()[sections - 1]) == count;
    for (size_t i = 0; fits && i < sections; ++i) {
      fits = (i == 0 ? 0 : bounds.data()[i - 1]) <= bounds.data()[i];
    }
    // Links are joined in the third section of each pass, and nowhere else.
    const auto joins = [&](size_t at) {
      size_t section = 0;
      while (at >= static_cast<size_t>(bounds.data()[section])) ++section;
      return section % 3 == 2;
    };
    bool is_set[kNumRegisters] = {true, true};  // x, and the number of links
    const auto is_known = [&](int at) {
      return is_operand(at) && (at >= kFirstConstant || is_set[at]);
    };
    std::vector<Instruction> read;
    for (size_t i = 0; fits && i < count; ++i) {
      const uint16_t* at = code.data() + 5 * i;
      const Instruction next{at[0], at[1], at[2], at[3], at[4]};
      fits = next.op < NUM_OPERATIONS && is_register(next.to) && is_known(next.a) &&
             is_known(next.b) && is_known(next.c) && (next.op >= OP_SUM_OF) == joins(i) &&
             (!joins(i) || is_register(next.a));
      if (fits) is_set[next.to] = true;
      read.push_back(next);
    }
    fits = fits && is_set[result];
    if (!fits) throw nb::value_error("not a program");
    return read;
  }

  std::vector<Instruction> code_;
  Owned<float> float32_;
  Owned<double> float64_;
};

// An id means one function for as long as the process lives, so nothing is ever freed and any
// thread may read.
std::atomic<const CustomFunction*> activations[kNumIds], aggregations[kNumIds];
std::atomic<const CustomFunction*> activation_slopes[kNumIds], aggregation_slopes[kNumIds];

void define(bool joins, int id, CustomFunction::Code code, In<double> constants, In<int32_t> bounds,
            int result, bool slope) {
  std::atomic<const CustomFunction*>* table = joins ? aggregations : activations;
  if (slope) table = joins ? aggregation_slopes : activation_slopes;
  const int first = joins ? int{NUM_AGGREGATIONS} : int{NUM_ACTIVATIONS};
  if (id < first || id >= kNumIds) throw nb::index_error("not an id of a custom function");
  auto made = std::make_unique<const CustomFunction>(code, constants, bounds, result);
  if (!joins && made->joins_links()) throw nb::value_error("an aggregation is not an activation");
  if (joins && slope && made->program(0.0f).num_passes == 0) {
    throw nb::value_error("not a derivative by links");
  }
  const CustomFunction* nothing = nullptr;
  if (table[id].compare_exchange_strong(nothing, made.get())) made.release();
}

template <class T>
const Program<T>* find(const std::atomic<const CustomFunction*>* table, int id) {
  if (id < 0 || id >= kNumIds) return nullptr;
  const CustomFunction* found = table[id].load(std::memory_order_acquire);
  return found == nullptr ? nullptr : &found->program(T());
}

}  // namespace

template <class T>
const Program<T>* custom_activation(int id) {
  return find<T>(activations, id);
}
template <class T>
const Program<T>* custom_aggregation(int id) {
  return find<T>(aggregations, id);
}
template <class T>
const Program<T>* custom_activation_slope(int id) {
  return find<T>(activation_slopes, id);
}
template <class T>
const Program<T>* custom_aggregation_slope(int id) {
  return find<T>(aggregation_slopes, id);
}
template const Program<float>* custom_activation<float>(int);
template const Program<double>* custom_activation<double>(int);
template const Program<float>* custom_aggregation<float>(int);
template const Program<double>* custom_aggregation<double>(int);
template const Program<float>* custom_activation_slope<float>(int);
template const Program<double>* custom_activation_slope<double>(int);
template const Program<float>* custom_aggregation_slope<float>(int);
template const Program<double>* custom_aggregation_slope<double>(int);

void bind_program(nb::module_& m) {
  nb::class_<CustomFunction>(m, "Function")
      .def(nb::init<CustomFunction::Code, In<double>, In<int32_t>, int>(), "code"_a.noconvert(),
           "constants"_a.noconvert(), "bounds"_a.noconvert(), "result"_a)
      .def("activate", &CustomFunction::activate<float>, "x"_a.noconvert(), "simd"_a,
           "Applies an activation to every element.")
      .def("activate", &CustomFunction::activate<double>, "x"_a.noconvert(), "simd"_a)
      .def("aggregate", &CustomFunction::aggregate<float>, "weights"_a.noconvert(),
           "values"_a.noconvert(), "simd"_a, "Joins links [n] with values [n, W] to [W].")
      .def("aggregate", &CustomFunction::aggregate<double>, "weights"_a.noconvert(),
           "values"_a.noconvert(), "simd"_a)
      .def("terms", &CustomFunction::terms<float>, "weights"_a.noconvert(), "values"_a.noconvert(),
           "simd"_a, "The derivative of an aggregation by the product of each link, [n, W].")
      .def("terms", &CustomFunction::terms<double>, "weights"_a.noconvert(), "values"_a.noconvert(),
           "simd"_a);
  m.def("define", &define, "joins"_a, "id"_a, "code"_a.noconvert(), "constants"_a.noconvert(),
        "bounds"_a.noconvert(), "result"_a, "slope"_a = false,
        "Gives an id to an aggregation, or else an activation, or to the derivative of one, unless "
        "it has one already.");
}

}  // namespace evonet
