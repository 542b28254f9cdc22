// pack_units.h: writes schedules as GPUs read them; see schedule_units.h.
#pragma once

#include "native/buffer.h"
#include "native/schedule_view.h"
#include "native/thread_pool.h"

namespace evonet {

struct PackedUnits {
  Buffer<int64_t> unit_start;  // [P + 1] first unit of each genome
  Buffer<int32_t> node_unit;   // [N] header of each node, counted from the genome's first unit
  Buffer<uint32_t> units;      // four to a unit
};

// Packs all genomes of the view; returns false if poll asked to stop.
template <class T>
bool pack_units(const ScheduleView<T>& schedule, int threads, const Interrupt::Poll& poll,
                PackedUnits& out);

}  // namespace evonet
