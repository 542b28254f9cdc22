// arrays.cpp: what entry points say of arrays that do not fit, compiled once for all of them.
#include "native/bind/arrays.h"

#include <vector>

namespace evonet {

namespace {

// What str() makes of a Python object.
std::string text_of(const nb::object& object) {
  const nb::object text = nb::steal(PyObject_Str(object.ptr()));
  const char* bytes = text.is_valid() ? PyUnicode_AsUTF8AndSize(text.ptr(), nullptr) : nullptr;
  if (bytes == nullptr) throw nb::python_error();
  return bytes;
}

std::string range_text(int64_t found, int64_t least, int64_t most) {
  return "is " + std::to_string(found) + ", and must be from " + std::to_string(least) + " to " +
         std::to_string(most);
}

}  // namespace

void raise_error(const char* type, const std::string& message) {
  const nb::object error = nb::module_::import_("evonet.errors").attr(type);
  PyErr_SetString(error.ptr(), message.c_str());
  throw nb::python_error();
}

void refuse(std::string_view name, std::string_view what) {
  raise_error("ShapeError", std::string(name) + " " + std::string(what) + ".");
}

std::string shape_text(const int64_t* sizes, size_t count) {
  std::string text = "[";
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += sizes[i] == kAnySize ? "any" : std::to_string(sizes[i]);
  }
  return text + "]";
}

void check_place(std::string_view name, const ArrayPlace& array,
                 std::initializer_list<int64_t> wanted) {
  bool fits = array.ndim == wanted.size();
  for (size_t i = 0; fits && i < array.ndim; ++i) {
    const int64_t size = wanted.begin()[i];
    fits = size == kAnySize || array.shape[i] == size;
  }
  if (!fits) {
    refuse(name, "must have shape " + shape_text(wanted.begin(), wanted.size()) + ", found " +
                     shape_text(array.shape, array.ndim));
  }
  if (reinterpret_cast<uintptr_t>(array.data) % array.alignment != 0) {
    refuse(name, "does not lie at a multiple of its type's size in memory; pass a copy");
  }
}

void refuse_array(std::string_view name, const nb::object& found, const char* type,
                  int dimensions) {
  const nb::object dtype = nb::getattr(found, "dtype", nb::none());
  const std::string is = dtype.is_none()
                             ? text_of(found.type().attr("__name__"))
                             : text_of(dtype) + " of shape " + text_of(found.attr("shape"));
  refuse(name, std::string("must be a contiguous array ") + type + " of " +
                   std::to_string(dimensions) + (dimensions == 1 ? " dimension" : " dimensions") +
                   " in the host's memory, found " + is);
}

void refuse_position(std::string_view name, int64_t index, int64_t found, int64_t least,
                     int64_t end) {
  refuse(std::string(name) + "[" + std::to_string(index) + "]", range_text(found, least, end - 1));
}

void refuse_offsets(std::string_view name, int64_t total) {
  refuse(name, "must ascend from 0 to " + std::to_string(total));
}

void check_number(std::string_view name, int64_t value, int64_t least, int64_t most) {
  if (value < least || most < value) refuse(name, range_text(value, least, most));
}

}  // namespace evonet
