// bind_actor.cpp: one network that answers one observation at a time, as in an environment that is
// stepped in Python. A call keeps the GIL and makes no array, as it costs less than either.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "native/bind/bindings.h"
#include "native/bind/read_schedule.h"
#include "native/isa/isa.h"
#include "native/worker_memory.h"

using namespace nb::literals;

namespace evonet {

namespace {

// The numbers that an environment shows, of either type.
using Observation = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
class Actor {
 public:
  Actor(const Actor&) = delete;
  Actor(const nb::object& schedule, int64_t genome, const std::string& simd)
      : owner_(read_schedule<T>(schedule)),
        one_(alone(owner_.view(), genome)),
        kernels_(find_isa(simd).kernels(T()).forward),
        memory_(std::max(one_.num_inputs, one_.num_slots[0]), max_links(one_)),
        x_(one_.num_inputs),
        y_(one_.num_outputs),
        state_(one_.num_states * one_.num_nodes(0)),
        next_state_(state_.size()) {}

  void reset() { remembers_ = false; }

  nb::list operator()(const Observation& seen) {
    read(seen);
    std::atomic<bool> stop{false};
    Interrupt never(stop, nullptr);
    Workspace<T> workspace = memory_.workspace();
    const ForwardCall<T> call{one_,
                              x_.data(),
                              true,
                              1,
                              y_.data(),
                              remembers_ ? state_.data() : nullptr,
                              next_state_.data()};
    kernels_.forward(call, 0, 1, {0, 1}, workspace, never);
    std::swap(state_, next_state_);
    remembers_ = true;
    nb::list outputs;
    for (const T value : y_) outputs.append(static_cast<double>(value));
    return outputs;
  }

 private:
  // A schedule of one genome, whose nodes and states count from 0.
  ScheduleView<T> alone(const ScheduleView<T>& whole, int64_t genome) {
    check_number("genome", genome, 0, whole.num_genomes - 1);
    ScheduleView<T> view = whole.part(genome, genome + 1);
    const int64_t before = view.node_start[0];
    node_start_[1] = view.num_nodes(0);
    view.node_start = node_start_;
    view.bias += before;
    view.response += before;
    view.activation += before;
    view.aggregation += before;
    view.slot += before;
    view.edge_start += before;
    if (view.num_parameters > 0) view.cell += before * view.num_parameters;
    return view;
  }

  static int64_t max_links(const ScheduleView<T>& one) {
    int64_t most = 0;
    for (int64_t k = 0; k < one.num_nodes(0); ++k) {
      most = std::max(most, one.edge_start[k + 1] - one.edge_start[k]);
    }
    return most;
  }

  void read(const Observation& seen) {
    if (seen.shape(0) != x_.size()) {
      refuse("x", "must have shape [" + std::to_string(one_.num_inputs) + "], found [" +
                      std::to_string(seen.shape(0)) + "]");
    }
    if (seen.dtype() == nb::dtype<float>()) {
      copy<float>(seen);
    } else if (seen.dtype() == nb::dtype<double>()) {
      copy<double>(seen);
    } else {
      refuse("x", "must be float32 or float64");
    }
  }

  template <class E>
  void copy(const Observation& seen) {
    const auto* const from = static_cast<const E*>(seen.data());
    if (reinterpret_cast<uintptr_t>(from) % alignof(E) != 0) {
      refuse("x", "does not lie at a multiple of its type's size in memory; pass a copy");
    }
    for (size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<T>(from[i]);
  }

  int64_t node_start_[2] = {0, 0};
  const ScheduleRef<T> owner_;
  const ScheduleView<T> one_;
  const ForwardKernels<T>& kernels_;
  WorkerMemory<T> memory_;
  std::vector<T> x_, y_, state_, next_state_;
  bool remembers_ = false;
};

template <class T>
void bind_actor_of(nb::module_& m, const char* name) {
  nb::class_<Actor<T>>(m, name)
      .def(nb::init<const nb::object&, int64_t, const std::string&>(), "schedule"_a, "genome"_a,
           "simd"_a)
      .def("reset", &Actor<T>::reset, "Forgets all steps.")
      .def("__call__", &Actor<T>::operator(), "x"_a.noconvert(),
           "Evaluates x [I], float32 or float64, to a list of O numbers.");
}

}  // namespace

void bind_actor(nb::module_& m) {
  bind_actor_of<float>(m, "Actor32");
  bind_actor_of<double>(m, "Actor64");
}

}  // namespace evonet
