// bind_schedule.cpp: genomes compiled to schedules, and schedules checked, from Python.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "native/bind/bindings.h"
#include "native/bind/read_population.h"
#include "native/bind/read_schedule.h"
#include "native/compile_schedule.h"

using namespace nb::literals;

namespace evonet {

namespace {

template <class T>
std::pair<nb::dict, int64_t> compile(int64_t num_inputs, int64_t num_outputs,
                                     In<int64_t> node_start, In<int64_t> node_key, In<T> bias,
                                     In<T> response, In<uint8_t> activation,
                                     In<uint8_t> aggregation, In<int64_t> conn_start,
                                     In<int64_t> source, In<int64_t> target, In<T> weight,
                                     In<bool> enabled, In<int32_t> rank, int wiring, int num_states,
                                     bool reuse_slots, int threads) {
  const auto num_nodes = static_cast<int64_t>(node_key.shape(0)),
             num_conns = static_cast<int64_t>(source.shape(0));
  check_number("wiring", wiring, kLevels, kSpikes);
  check_number("num_states", num_states, 0, 16);
  check_number("num_inputs", num_inputs, 0, kMostInt32 / 2);
  check_number("num_outputs", num_outputs, 0, kMostInt32);
  check_shape("node_key", node_key, {num_nodes});
  check_shape("bias", bias, {num_nodes});
  check_shape("response", response, {num_nodes});
  check_shape("activation", activation, {num_nodes});
  check_shape("aggregation", aggregation, {num_nodes});
  check_shape("source", source, {num_conns});
  check_shape("target", target, {num_conns});
  check_shape("weight", weight, {num_conns});
  check_shape("enabled", enabled, {num_conns});
  check_shape("rank", rank, {num_conns});
  check_flags("enabled", enabled);
  const int64_t num_genomes =
      check_starts(node_start, conn_start, num_nodes, num_conns, num_outputs);
  const PopulationView<T> population{
      num_genomes,   num_inputs,      num_outputs,       node_start.data(),  node_key.data(),
      bias.data(),   response.data(), activation.data(), aggregation.data(), conn_start.data(),
      source.data(), target.data(),   weight.data(),     enabled.data(),     rank.data()};
  CompiledSchedule<T> out;
  run_interruptibly([&] {
    return compile_schedule(population, {static_cast<Wiring>(wiring), num_states, reuse_slots},
                            threads, python_signal, out);
  });
  if (out.bad_genome >= 0) {
    raise_error("GenomeError", "genome " + std::to_string(out.bad_genome) +
                                   ": its keys do not ascend, a connection ends at no node, or "
                                   "ranks are not 0, 1, ... in some order. Make the population "
                                   "with validate=True to see which.");
  }
  const ScheduleView<T> view{num_genomes,
                             num_inputs,
                             num_outputs,
                             out.node_start.data.get(),
                             out.bias.data.get(),
                             out.response.data.get(),
                             out.activation.data.get(),
                             out.aggregation.data.get(),
                             out.slot.data.get(),
                             out.num_slots.data.get(),
                             out.edge_start.data.get(),
                             out.source.data.get(),
                             out.weight.data.get(),
                             out.level_start.data.get(),
                             out.level_end.data.get(),
                             out.output_slot.data.get(),
                             0,
                             num_states};
  nb::dict fields;
  fields["node_start"] = to_read_only_numpy(out.node_start);
  fields["node_key"] = to_read_only_numpy(out.node_key);
  fields["bias"] = to_read_only_numpy(out.bias);
  fields["response"] = to_read_only_numpy(out.response);
  fields["activation"] = to_read_only_numpy(out.activation);
  fields["aggregation"] = to_read_only_numpy(out.aggregation);
  fields["slot"] = to_read_only_numpy(out.slot);
  fields["num_slots"] = to_read_only_numpy(out.num_slots);
  fields["edge_start"] = to_read_only_numpy(out.edge_start);
  fields["source"] = to_read_only_numpy(out.source);
  fields["weight"] = to_read_only_numpy(out.weight);
  fields["level_start"] = to_read_only_numpy(out.level_start);
  fields["level_end"] = to_read_only_numpy(out.level_end);
  fields["output_slot"] = to_numpy<int32_t, const int32_t>(
      out.output_slot, {static_cast<size_t>(num_genomes), static_cast<size_t>(num_outputs)});
  nb::list arrays;
  for (auto field : fields) arrays.append(field.second);
  if (wiring != kLevels) fields["gene"] = to_read_only_numpy(out.gene);
  fields["checked"] = nb::cast(new CheckedSchedule<T>(view, arrays), nb::rv_policy::take_ownership);
  return {fields, out.cyclic_genome};
}

template <class T>
void bind_schedule_of(nb::module_& m, const std::string& suffix) {
  nb::class_<CheckedSchedule<T>>(m, ("_CheckedSchedule" + suffix).c_str())
      .def(
          "complete",
          [](nb::handle self, const nb::object& schedule) {
            nb::cast<CheckedSchedule<T>*>(self)->complete(schedule);
            note_checked(schedule, nb::borrow(self));
          },
          "schedule"_a, "Adds what only a Schedule has, which then needs no further check.");
  m.def(("check_schedule" + suffix).c_str(), [](const nb::object& s) { read_schedule<T>(s); },
        "schedule"_a, "Raises a ShapeError if anything in a Schedule points outside.");
  m.def("compile_schedule", &compile<T>, "num_inputs"_a, "num_outputs"_a,
        "node_start"_a.noconvert(), "node_key"_a.noconvert(), "bias"_a.noconvert(),
        "response"_a.noconvert(), "activation"_a.noconvert(), "aggregation"_a.noconvert(),
        "conn_start"_a.noconvert(), "source"_a.noconvert(), "target"_a.noconvert(),
        "weight"_a.noconvert(), "enabled"_a.noconvert(), "rank"_a.noconvert(), "wiring"_a,
        "num_states"_a, "reuse_slots"_a, "threads"_a,
        "The arrays of a Schedule by name, 'checked' for its check, and the first cyclic genome or "
        "-1.");
}

}  // namespace

void bind_schedule(nb::module_& m) {
  bind_schedule_of<float>(m, "32");
  bind_schedule_of<double>(m, "64");
}

}  // namespace evonet
