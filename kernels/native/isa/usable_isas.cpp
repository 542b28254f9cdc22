// usable_isas.cpp: which of the compiled instruction sets this processor can run.
#include "native/isa/usable_isas.h"

#include <stdexcept>

namespace evonet {

extern const Isa isa_baseline;
#if defined(EVONET_X86_LEVELS)
extern const Isa isa_v3, isa_v4;
#endif

const std::vector<const Isa*>& usable_isas() {
  static const std::vector<const Isa*> isas = [] {
    std::vector<const Isa*> found{&isa_baseline};
#if defined(EVONET_X86_LEVELS)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")) {
      found.push_back(&isa_v3);
      if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
          __builtin_cpu_supports("avx512cd")) {
        found.push_back(&isa_v4);
      }
    }
#endif
    return found;
  }();
  return isas;
}

const Isa& find_isa(const std::string& name) {
  for (const Isa* isa : usable_isas()) {
    if (name == isa->name) return *isa;
  }
  throw std::invalid_argument("this processor has no SIMD level " + name);
}

}  // namespace evonet
