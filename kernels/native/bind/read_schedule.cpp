// read_schedule.cpp: reads and checks schedules, once for all entry points.
#include "native/bind/read_schedule.h"

#include <algorithm>
#include <string>
#include <utility>

#include "native/schedule_check.h"
#include "nodes/cells.h"

namespace evonet {

template <class T>
CheckedSchedule<T>::CheckedSchedule(const ScheduleView<T>& compiled, nb::object arrays)
    : view(compiled), is_complete(false), compiled_(std::move(arrays)) {
  extent.max_slots = view.num_inputs;
  for (int64_t g = 0; g < view.num_genomes; ++g) {
    extent.max_slots = std::max(extent.max_slots, view.num_slots[g]);
  }
  for (int64_t k = 0; k < view.node_start[view.num_genomes]; ++k) {
    extent.max_links = std::max(extent.max_links, view.edge_start[k + 1] - view.edge_start[k]);
  }
}

template <class T>
CheckedSchedule<T>::CheckedSchedule(const nb::object& s) {
  const auto pins = [&](const char* name) {
    const auto found = nb::cast<int64_t>(s.attr(name));
    check_number(std::string("schedule.") + name, found, 0, kMostInt32);
    return found;
  };
  view.num_inputs = pins("num_inputs");
  view.num_outputs = pins("num_outputs");
  view.node_start = read<int64_t>(s, "node_start", kAnySize);
  const int64_t genomes = size_ - 1;
  if (genomes < 0) refuse("schedule.node_start", "is empty; no genomes are [0]");
  view.num_genomes = genomes;
  view.bias = read<T>(s, "bias", kAnySize);
  const int64_t nodes = size_;
  view.weight = read<T>(s, "weight", kAnySize);
  const int64_t edges = size_;
  check_offsets("schedule.node_start", view.node_start, genomes + 1, nodes);
  view.response = read<T>(s, "response", nodes);
  view.activation = read<uint8_t>(s, "activation", nodes);
  view.aggregation = read<uint8_t>(s, "aggregation", nodes);
  view.slot = read<int32_t>(s, "slot", nodes);
  view.num_slots = read<int64_t>(s, "num_slots", genomes);
  view.edge_start = read<int64_t>(s, "edge_start", nodes + 1);
  check_offsets("schedule.edge_start", view.edge_start, nodes + 1, edges);
  view.source = read<int32_t>(s, "source", edges);
  view.level_end = read<int32_t>(s, "level_end", kAnySize);
  const int64_t levels = size_;
  view.level_start = read<int64_t>(s, "level_start", genomes + 1);
  check_offsets("schedule.level_start", view.level_start, genomes + 1, levels);
  view.output_slot = read<int32_t, 2>(s, "output_slot", genomes, view.num_outputs);
  read_dynamics(s.attr("dynamics"));
  view.cell = read<T, 2>(s, "cell", nodes, view.num_parameters);
  ScheduleCheck<T> check(view);
  if (!check.run()) raise_error("ShapeError", "schedule: " + check.fault() + ".");
  extent = check.extent();
}

template <class T>
void CheckedSchedule<T>::complete(const nb::object& s) {
  const int num_states = view.num_states;
  read_dynamics(s.attr("dynamics"));
  check_number("schedule.dynamics.num_states", view.num_states, num_states, num_states);
  view.cell = read<T, 2>(s, "cell", view.node_start[view.num_genomes], view.num_parameters);
  is_complete = true;
}

template <class T>
template <class E, int N, class... Sizes>
const E* CheckedSchedule<T>::read(const nb::object& s, const char* name, Sizes... sizes) {
  const auto array = read_array<const E, N>(std::string("schedule.") + name, s.attr(name),
                                            {static_cast<int64_t>(sizes)...});
  size_ = static_cast<int64_t>(array.shape(0));
  kept_.emplace_back(array);
  return array.data();
}

template <class T>
void CheckedSchedule<T>::read_dynamics(const nb::object& dynamics) {
  view.kind = nb::cast<int>(dynamics.attr("kind_id"));
  check_number("schedule.dynamics.kind_id", view.kind, 0, KIND_IZHIKEVICH);
  with_cell(view.kind, [&](auto cell) {
    view.num_states = decltype(cell)::kStates;
    view.num_parameters = decltype(cell)::kParameters;
  });
  view.steps = nb::cast<int64_t>(dynamics.attr("steps"));
  check_number("schedule.dynamics.steps", view.steps, 1, kMostInt32);
  view.time_step = static_cast<T>(nb::cast<double>(dynamics.attr("time_step")));
}

void note_checked(const nb::object& schedule, const nb::object& checked) {
  if (PyObject_GenericSetAttr(schedule.ptr(), nb::str("_checked").ptr(), checked.ptr()) != 0) {
    PyErr_Clear();
  }
}

template <class T>
ScheduleRef<T> read_schedule(const nb::object& schedule) {
  const nb::object known = nb::getattr(schedule, "_checked", nb::none());
  CheckedSchedule<T>* checked = nullptr;
  if (!known.is_none() && nb::try_cast(known, checked, false) && checked->is_complete) {
    return {known, checked};
  }
  const nb::object made = nb::cast(new CheckedSchedule<T>(schedule), nb::rv_policy::take_ownership);
  note_checked(schedule, made);
  return {made, nb::cast<CheckedSchedule<T>*>(made)};
}

template class CheckedSchedule<float>;
template class CheckedSchedule<double>;
template ScheduleRef<float> read_schedule<float>(const nb::object& schedule);
template ScheduleRef<double> read_schedule<double>(const nb::object& schedule);

}  // namespace evonet
