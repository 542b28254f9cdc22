// read_schedule.h: a Schedule object of Python as plain pointers.
#pragma once

#include "native/bind/bindings.h"
#include "native/schedule_view.h"

namespace evonet {

// The caller keeps the object alive.
template <class T>
ScheduleView<T> read_schedule(const nb::object& s) {
  const auto reals = [&](const char* name) { return nb::cast<In<T>>(s.attr(name)).data(); };
  const auto bytes = [&](const char* name) { return nb::cast<In<uint8_t>>(s.attr(name)).data(); };
  const auto longs = [&](const char* name) { return nb::cast<In<int64_t>>(s.attr(name)).data(); };
  const auto ints = [&](const char* name) { return nb::cast<In<int32_t>>(s.attr(name)).data(); };
  using Slots = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
  using Cells = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
  const nb::object dynamics = s.attr("dynamics");
  return {nb::cast<int64_t>(s.attr("num_genomes")),
          nb::cast<int64_t>(s.attr("num_inputs")),
          nb::cast<int64_t>(s.attr("num_outputs")),
          longs("node_start"),
          reals("bias"),
          reals("response"),
          bytes("activation"),
          bytes("aggregation"),
          ints("slot"),
          longs("num_slots"),
          longs("edge_start"),
          ints("source"),
          reals("weight"),
          longs("level_start"),
          ints("level_end"),
          nb::cast<Slots>(s.attr("output_slot")).data(),
          nb::cast<int>(dynamics.attr("kind_id")),
          nb::cast<int>(dynamics.attr("num_states")),
          nb::cast<int>(dynamics.attr("num_parameters")),
          nb::cast<int64_t>(dynamics.attr("steps")),
          static_cast<T>(nb::cast<double>(dynamics.attr("time_step"))),
          nb::cast<Cells>(s.attr("cell")).data()};
}

}  // namespace evonet
