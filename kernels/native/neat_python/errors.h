// errors.h: the errors of networks as Python's exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include <cerrno>
#include <cstring>

#include "native/bind/arrays.h"
#include "native/neat_python/network.h"

namespace evonet {

[[noreturn]] inline void raise(PyObject* type, const nb::object& value) {
  PyErr_SetObject(type, value.ptr());
  throw nb::python_error();
}

// A turn at something that only one may work on at a time. The GIL is held when it begins and ends;
// in between, functions in Python may let other threads in.
class Turn {
 public:
  explicit Turn(bool& busy) : busy_(busy) {
    if (busy) {
      raise_error("BusyError",
                  "this network is at work already: another thread, or one of its own functions, "
                  "called it. Give every thread a network of its own.");
    }
    busy_ = true;
  }
  ~Turn() { busy_ = false; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  bool& busy_;
};

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
