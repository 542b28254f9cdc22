// bindings.h: shared by all parts of the Python module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <vector>

#include "native/bind/arrays.h"
#include "native/buffer.h"
#include "native/isa/usable_isas.h"

namespace nb = nanobind;

namespace evonet {

// Adds networks that act, one observation at a time.
void bind_actor(nb::module_& m);

// Adds the functions of evolution to the module.
void bind_evolution(nb::module_& m);

// Adds networks that evaluate samples to the module.
void bind_forward(nb::module_& m);

// Adds single activations and aggregations to the module.
void bind_functions(nb::module_& m);

// Adds gradients and learning to the module.
void bind_gradient(nb::module_& m);

// Adds fronts for images to the module.
void bind_images(nb::module_& m);

// Adds what measures the limits of the machine to the module.
void bind_machine(nb::module_& m);

// Adds custom functions to the module.
void bind_program(nb::module_& m);

// Adds mating and exact sums to the module.
void bind_mating(nb::module_& m);

// Adds what packs schedules for GPUs to the module.
void bind_packer(nb::module_& m);

// Adds control tasks and their rollouts to the module.
void bind_rollout(nb::module_& m);

// Adds the compiler of genomes and the check of schedules to the module.
void bind_schedule(nb::module_& m);

// Adds wide levels to the module.
void bind_wide(nb::module_& m);

// Adds the packer of neat-python's genomes to the module.
void bind_pack_neat(nb::module_& m);

// Adds networks that compute as neat-python's classes do, one sample at a time.
void bind_neat_network(nb::module_& m);
void bind_neat_spiking(nb::module_& m);

// Lets Ctrl-C through: true if Python has an exception pending.
inline bool python_signal() {
  nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

// Runs work without the GIL; if a signal stopped it, raises what the handler raised.
template <class Work>
void run_interruptibly(Work&& work) {
  bool finished;
  {
    nb::gil_scoped_release release;
    finished = work();
  }
  if (!finished) throw nb::python_error();
}

template <class E, class Seen = E>
nb::object to_numpy(Buffer<E>& buffer, std::vector<size_t> shape = {}) {
  if (shape.empty()) shape = {static_cast<size_t>(buffer.size)};
  E* data = buffer.data.release();
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<E*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, Seen>(data, shape.size(), shape.data(), owner));
}

template <class E>
nb::object to_read_only_numpy(Buffer<E>& buffer) {
  return to_numpy<E, const E>(buffer);
}

}  // namespace evonet
