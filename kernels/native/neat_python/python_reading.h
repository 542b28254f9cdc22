// python_reading.h: attributes of Python objects as numbers. All of it needs the GIL, and throws
// what Python raised.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "native/neat_python/stable_abi.h"

namespace evonet {

namespace nb = nanobind;

// Attribute names, interned once and kept as long as this lives.
class Names {
 public:
  PyObject* operator()(const char* text) {
    PyObject* name = PyUnicode_InternFromString(text);
    if (name == nullptr) throw nb::python_error();
    kept_.push_back(nb::steal(name));
    return name;
  }

 private:
  std::vector<nb::object> kept_;
};

inline nb::object attribute(PyObject* object, PyObject* name) {
#if defined(Py_LIMITED_API)
  PyObject* found = PyObject_GetAttr(object, name);
#else
  const getattrofunc get = Py_TYPE(object)->tp_getattro;  // what PyObject_GetAttr calls, too
  PyObject* found = get != nullptr ? get(object, name) : PyObject_GetAttr(object, name);
#endif
  if (found == nullptr) throw nb::python_error();
  return nb::steal(found);
}

inline bool has_attribute(PyObject* object, PyObject* name) {
  PyObject* found = PyObject_GetAttr(object, name);
  if (found == nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
    PyErr_Clear();
    return false;
  }
  Py_DECREF(found);
  return true;
}

inline double read_real(PyObject* value) {
  if (PyFloat_CheckExact(value)) return PyFloat_AS_DOUBLE(value);
  const double number = PyFloat_AsDouble(value);
  if (number == -1.0 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

inline double read_real(const nb::object& value) { return read_real(value.ptr()); }

inline int64_t read_whole(PyObject* value) {
  const long long number = PyLong_AsLongLong(value);
  if (number == -1 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

inline bool read_truth(const nb::object& value) {
  if (value.ptr() == Py_True) return true;
  if (value.ptr() == Py_False) return false;
  const int found = PyObject_IsTrue(value.ptr());
  if (found < 0) throw nb::python_error();
  return found != 0;
}

// visit(key, value) for every entry of a dict. Both are kept alive while visit runs, whatever the
// attributes that it reads do to the dict. Genes are scattered over the memory, so those to come
// are fetched ahead.
template <class Visit>
void each_entry(PyObject* dict, Visit visit) {
  constexpr int kAhead = 8;
  PyObject *key, *value;
  Py_ssize_t at = 0, ahead = 0;
  const auto fetch = [&] {
    PyObject *next_key, *next_value;
    if (!PyDict_Next(dict, &ahead, &next_key, &next_value)) return;
    __builtin_prefetch(next_key);
    __builtin_prefetch(next_value);
    __builtin_prefetch(reinterpret_cast<char*>(next_value) - 32);  // where attributes begin
  };
  for (int i = 0; i < kAhead; ++i) fetch();
  while (PyDict_Next(dict, &at, &key, &value)) {
    fetch();
    const nb::object kept_key = nb::borrow(key), kept_value = nb::borrow(value);
    visit(key, value);
  }
}

// Both ends of a connection, from its key.
inline std::pair<int64_t, int64_t> read_ends(PyObject* key) {
  if (!PyTuple_Check(key) || PyTuple_GET_SIZE(key) != 2) {
    throw nb::value_error("a key of a connection is not a pair");
  }
  return {read_whole(PyTuple_GET_ITEM(key, 0)), read_whole(PyTuple_GET_ITEM(key, 1))};
}

// The items of a sequence as a tuple, which stays as it is whatever Python code that reads its
// items does to the sequence.
inline nb::tuple hold_items(const nb::handle& items) {
  PyObject* held = PySequence_Tuple(items.ptr());
  if (held == nullptr) throw nb::python_error();
  return nb::steal<nb::tuple>(held);
}

// One item of a tuple; raises an IndexError if it is too short.
inline nb::object item(const nb::tuple& items, Py_ssize_t i) {
  PyObject* found = PyTuple_GetItem(items.ptr(), i);
  if (found == nullptr) throw nb::python_error();
  return nb::borrow(found);
}

inline std::vector<int64_t> read_keys(const nb::list& keys) {
  std::vector<int64_t> found;
  found.reserve(nb::len(keys));
  for (nb::handle key : hold_items(keys)) found.push_back(read_whole(key.ptr()));
  return found;
}

}  // namespace evonet
