// usable_isas.cpp: which of the compiled instruction sets this processor can run.
#include "native/isa/usable_isas.h"

#include <stdexcept>

#include "native/isa/processor_level.h"

namespace evonet {

extern const Isa isa_baseline, isa_v3, isa_v4;

const std::vector<const Isa*>& usable_isas() {
  static const std::vector<const Isa*> isas = [] {
    std::vector<const Isa*> found{&isa_baseline};
#if defined(EVONET_V3)
    if (processor_level() >= 3) found.push_back(&isa_v3);
#endif
#if defined(EVONET_V4)
    if (processor_level() >= 4) found.push_back(&isa_v4);
#endif
    return found;
  }();
  return isas;
}

const Isa& find_isa(const std::string& name) {
  for (const Isa* isa : usable_isas()) {
    if (name == isa->name) return *isa;
  }
  throw std::invalid_argument("this build or processor has no SIMD level " + name);
}

}  // namespace evonet
