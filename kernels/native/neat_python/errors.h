// errors.h: the errors of networks as Python's exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include <cerrno>
#include <cstring>

#include "native/neat_python/network.h"

namespace evonet {

[[noreturn]] inline void raise(PyObject* type, const nb::object& value) {
  PyErr_SetObject(type, value.ptr());
  throw nb::python_error();
}

// As Python's own powers raise it.
[[noreturn]] inline void raise_overflow() {
  raise(PyExc_OverflowError, nb::make_tuple(ERANGE, std::strerror(ERANGE)));
}

template <class Work>
auto with_python_errors(Work work) {
  try {
    return work();
  } catch (const PowerOverflow&) {
    raise_overflow();
  }
}

template <class Work>
auto with_missing_nodes(Work work) {
  try {
    return work();
  } catch (const MissingNode& missing) {
    raise(PyExc_KeyError, nb::int_(missing.key));
  }
}

}  // namespace evonet
