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
#include <type_traits>
#include <vector>

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
[[noreturn]] inline void raise_error(const char* type, const std::string& message) {
  const nb::object error = nb::module_::import_("evonet.errors").attr(type);
  PyErr_SetString(error.ptr(), message.c_str());
  throw nb::python_error();
}

[[noreturn]] inline void refuse(const std::string& name, const std::string& what) {
  raise_error("ShapeError", name + " " + what + ".");
}

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

// What str() makes of a Python object.
inline std::string text_of(const nb::object& object) {
  const nb::object text = nb::steal(PyObject_Str(object.ptr()));
  const char* bytes = text.is_valid() ? PyUnicode_AsUTF8AndSize(text.ptr(), nullptr) : nullptr;
  if (bytes == nullptr) throw nb::python_error();
  return bytes;
}

// [2, any, 3]
template <class Sizes>
std::string shape_text(const Sizes& sizes) {
  std::string text = "[";
  for (int64_t size : sizes) {
    if (text.size() > 1) text += ", ";
    text += size == kAnySize ? "any" : std::to_string(size);
  }
  return text + "]";
}

// Raises unless an array has a shape, and lies where its type may lie.
template <class Found>
void check_shape(const std::string& name, const Found& array,
                 std::initializer_list<int64_t> wanted) {
  bool fits = array.ndim() == wanted.size();
  size_t d = 0;
  for (auto size = wanted.begin(); fits && size != wanted.end(); ++size, ++d) {
    fits = *size == kAnySize || static_cast<int64_t>(array.shape(d)) == *size;
  }
  if (!fits) {
    std::vector<int64_t> found;
    for (size_t i = 0; i < array.ndim(); ++i) found.push_back(static_cast<int64_t>(array.shape(i)));
    refuse(name, "must have shape " + shape_text(wanted) + ", found " + shape_text(found));
  }
  using E = std::remove_pointer_t<decltype(array.data())>;
  if (reinterpret_cast<uintptr_t>(array.data()) % alignof(E) != 0) {
    refuse(name, "does not lie at a multiple of its type's size in memory; pass a copy");
  }
}

// Reads an array that Python code holds, without converting it.
template <class E, int N = 1>
Array<E, N> read_array(const std::string& name, const nb::object& found,
                       std::initializer_list<int64_t> wanted) {
  Array<E, N> array;
  if (!nb::try_cast(found, array, false)) {
    const nb::object type = nb::getattr(found, "dtype", nb::none());
    const std::string is = type.is_none()
                               ? text_of(found.type().attr("__name__"))
                               : text_of(type) + " of shape " + text_of(found.attr("shape"));
    refuse(name, std::string("must be a contiguous array ") + type_name<E>() + " of " +
                     std::to_string(N) + (N == 1 ? " dimension" : " dimensions") +
                     " in the host's memory, found " + is);
  }
  check_shape(name, array, wanted);
  return array;
}

// Raises unless all values lie in [least, end).
template <class E>
void check_positions(const std::string& name, const E* values, int64_t count, int64_t least,
                     int64_t end) {
  bool fits = true;
  for (int64_t i = 0; i < count; ++i) fits &= least <= values[i] && values[i] < end;
  if (fits) return;
  for (int64_t i = 0; i < count; ++i) {
    if (least <= values[i] && values[i] < end) continue;
    refuse(name + "[" + std::to_string(i) + "]", "is " + std::to_string(values[i]) +
                                                     ", and must be from " + std::to_string(least) +
                                                     " to " + std::to_string(end - 1));
  }
}

template <class Found>
void check_positions(const std::string& name, const Found& array, int64_t least, int64_t end) {
  check_positions(name, array.data(), static_cast<int64_t>(array.size()), least, end);
}

// Raises unless values ascend from 0 to `total`.
template <class E>
void check_offsets(const std::string& name, const E* values, int64_t count, int64_t total) {
  bool ascends = count > 0 && values[0] == 0 && values[count - 1] == total;
  for (int64_t i = 1; i < count; ++i) ascends &= values[i - 1] <= values[i];
  if (!ascends) refuse(name, "must ascend from 0 to " + std::to_string(total));
}

template <class Found>
void check_offsets(const std::string& name, const Found& array, int64_t total) {
  check_offsets(name, array.data(), static_cast<int64_t>(array.size()), total);
}

// Raises unless a number lies in [least, most].
inline void check_number(const std::string& name, int64_t value, int64_t least, int64_t most) {
  if (least <= value && value <= most) return;
  refuse(name, "is " + std::to_string(value) + ", and must be from " + std::to_string(least) +
                   " to " + std::to_string(most));
}

constexpr int64_t kMostInt32 = std::numeric_limits<int32_t>::max();

}  // namespace evonet
