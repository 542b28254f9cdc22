// usable_isas.h: the compiled instruction sets that this processor can run.
#pragma once

#include <string>
#include <vector>

#include "native/isa/isa.h"

namespace evonet {

// Slowest first.
const std::vector<const Isa*>& usable_isas();

// Throws std::invalid_argument, a ValueError in Python, if the processor cannot run it.
const Isa& find_isa(const std::string& name);

}  // namespace evonet
