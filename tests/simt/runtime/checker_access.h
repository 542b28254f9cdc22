// checker_access.h: what the compiler's hooks tell the checker.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shadow.h"

namespace simt::checker {

// alignment: what the type of the access demands, or 1.
void check(uintptr_t address, size_t bytes, size_t alignment, Access access, const void* caller);

}  // namespace simt::checker
