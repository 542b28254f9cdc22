// arrays.h: how entry points read arrays. Kernels trust their pointers, so that every array is
// checked here, once, before any of them runs:
//
//   type, contiguity, dimensions   In<E>, Out<E> and Array<E, N> as types of arguments, always with
//                                  .noconvert(); read_array for what is found in an object
//   shape                          check_shape("x", x, {num_samples, num_inputs})
//   values that are positions      check_positions("genomes", genomes, -1, num_genomes)
//   values that are offsets        check_offsets("node_start", node_start, num_nodes)
//   numbers                        check_number("steps", steps, 1, most)
//
// Nothing is ever converted: a converted array is a temporary, and a pointer into it outlives it.
// All of them throw evonet's ShapeError, which names the array and what is wrong. The first three
// cost nanoseconds; positions and offsets are read once, so check them where a network is bound
// and not in every call.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

namespace nb = nanobind;

namespace evonet {

// A contiguous array in the host's memory; of any number of dimensions if N is -1. One of E is
// written to, and never read-only; one of const E is only read.
template <class E, int N>
struct ArrayOf {
  using type = nb::ndarray<E, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
};
template <class E>
struct ArrayOf<E, -1> {
  using type = nb::ndarray<E, nb::c_contig, nb::device::cpu>;
};
template <class E, int N>
using Array = typename ArrayOf<E, N>::type;
template <class E>
using In = Array<const E, 1>;
template <class E>
using Out = Array<E, 1>;

constexpr int64_t kAnySize = -1;

// Raises an exception of evonet/errors.py.
[[noreturn]] void raise_error(const char* type, const std::string& message);

// Raises a ShapeError: what is wrong with an argument.
[[noreturn]] void refuse(std::string_view name, std::string_view what);

template <class E>
constexpr const char* type_name() {
  using Plain = std::remove_const_t<E>;
  if constexpr (std::is_same_v<Plain, bool>) return "bool";
  if constexpr (std::is_same_v<Plain, float>) return "float32";
  if constexpr (std::is_same_v<Plain, double>) return "float64";
  if constexpr (std::is_same_v<Plain, uint8_t>) return "uint8";
  if constexpr (std::is_same_v<Plain, uint16_t>) return "uint16";
  if constexpr (std::is_same_v<Plain, int32_t>) return "int32";
  if constexpr (std::is_integral_v<Plain> && sizeof(Plain) == 8) return "int64";
  return "of another type";
}

// [2, any, 3]
std::string shape_text(const int64_t* sizes, size_t count);

// An array of any type: what is checked of all of them, compiled once.
struct ArrayPlace {
  const void* data;
  size_t alignment;
  const int64_t* shape;
  size_t ndim;
};
void check_place(std::string_view name, const ArrayPlace& array,
                 std::initializer_list<int64_t> wanted);

// Raises unless an array has a shape, and lies where its type may lie.
template <class Found>
void check_shape(std::string_view name, const Found& array, std::initializer_list<int64_t> wanted) {
  using E = std::remove_pointer_t<decltype(array.data())>;
  check_place(name, {array.data(), alignof(E), array.shape_ptr(), array.ndim()}, wanted);
}

[[noreturn]] void refuse_array(std::string_view name, const nb::object& found, const char* type,
                               int dimensions);

// Reads an array that Python code holds, without converting it.
template <class E, int N = 1>
Array<E, N> read_array(std::string_view name, const nb::object& found,
                       std::initializer_list<int64_t> wanted) {
  Array<E, N> array;
  if (!nb::try_cast(found, array, false)) refuse_array(name, found, type_name<E>(), N);
  check_shape(name, array, wanted);
  return array;
}

[[noreturn]] void refuse_position(std::string_view name, int64_t index, int64_t found,
                                  int64_t least, int64_t end);

// Raises unless all values lie in [least, end).
template <class E>
void check_positions(std::string_view name, const E* values, int64_t count, int64_t least,
                     int64_t end) {
  bool fits = true;
  for (int64_t i = 0; i < count; ++i) fits &= least <= values[i] && values[i] < end;
  if (fits) return;
  for (int64_t i = 0; i < count; ++i) {
    if (least <= values[i] && values[i] < end) continue;
    refuse_position(name, i, static_cast<int64_t>(values[i]), least, end);
  }
}

template <class Found>
void check_positions(std::string_view name, const Found& array, int64_t least, int64_t end) {
  check_positions(name, array.data(), static_cast<int64_t>(array.size()), least, end);
}

[[noreturn]] void refuse_offsets(std::string_view name, int64_t total);

// Raises unless values ascend from 0 to `total`.
template <class E>
void check_offsets(std::string_view name, const E* values, int64_t count, int64_t total) {
  bool ascends = count > 0 && values[0] == 0 && values[count - 1] == total;
  for (int64_t i = 1; i < count; ++i) ascends &= values[i - 1] <= values[i];
  if (!ascends) refuse_offsets(name, total);
}

template <class Found>
void check_offsets(std::string_view name, const Found& array, int64_t total) {
  check_offsets(name, array.data(), static_cast<int64_t>(array.size()), total);
}

// Raises unless a number lies in [least, most].
void check_number(std::string_view name, int64_t value, int64_t least, int64_t most);

constexpr int64_t kMostInt32 = std::numeric_limits<int32_t>::max();

}  // namespace evonet
