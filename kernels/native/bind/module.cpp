// module.cpp: the Python face of the native kernels. Arrays are checked by arrays.h, and schedules
// by read_schedule.h; the GIL is released while kernels run.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "native/bind/bindings.h"
#include "native/isa/isa.h"
#include "native/isa/processor_level.h"
#include "native/thread_pool.h"

NB_MODULE(_native, m) {
  using namespace evonet;
  m.def(
      "simd_levels",
      [] {
        std::vector<std::string> names;
        for (const Isa* isa : usable_isas()) names.emplace_back(isa->name);
        return names;
      },
      "The compiled instruction sets that this processor can run, slowest first.");
  m.def(
      "processor_level", [] { return processor_level(); },
      "4 on x86 with AVX-512, 3 with AVX2 and FMA, otherwise 1, whatever was compiled.");
  m.def("available_threads", &available_threads, "The number of CPUs this process may run on.");
  bind_schedule(m);
  bind_forward(m);
  bind_functions(m);
  bind_actor(m);
  bind_evolution(m);
  bind_gradient(m);
  bind_images(m);
  bind_machine(m);
  bind_mating(m);
  bind_packer(m);
  bind_program(m);
  bind_rollout(m);
  bind_wide(m);
  bind_pack_neat(m);
  bind_neat_network(m);
}
