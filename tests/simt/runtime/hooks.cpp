// hooks.cpp: the functions that -fsanitize=thread,bounds,... makes the compiler call. They replace
// the sanitizers' own libraries, which know OS threads but neither fibers nor barriers.
#include <cstring>

#include "checker_access.h"
#include "faults.h"
#include "scheduler.h"

using simt::Access;
using simt::checker::check;

#define SIMT_CALLER __builtin_return_address(0)

namespace {

uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

}  // namespace

extern "C" {

// ---- -fsanitize=thread: every load and store --------------------------------------------------

void __tsan_init() {}

#define SIMT_HOOKS(size)                                                                          \
  void __tsan_read##size(void* p) { check(number(p), size, size, Access::kRead, SIMT_CALLER); }   \
  void __tsan_write##size(void* p) { check(number(p), size, size, Access::kWrite, SIMT_CALLER); } \
  void __tsan_unaligned_read##size(void* p) {                                                     \
    check(number(p), size, 1, Access::kRead, SIMT_CALLER);                                        \
  }                                                                                               \
  void __tsan_unaligned_write##size(void* p) {                                                    \
    check(number(p), size, 1, Access::kWrite, SIMT_CALLER);                                       \
  }
SIMT_HOOKS(1)
SIMT_HOOKS(2)
SIMT_HOOKS(4)
SIMT_HOOKS(8)
SIMT_HOOKS(16)
#undef SIMT_HOOKS

void __tsan_read_range(void* p, unsigned long size) {
  check(number(p), size, 1, Access::kRead, SIMT_CALLER);
}
void __tsan_write_range(void* p, unsigned long size) {
  check(number(p), size, 1, Access::kWrite, SIMT_CALLER);
}

void simt_atomic_access(const void* p, unsigned size, bool uses_value) {
  check(number(p), size, size, uses_value ? Access::kAtomic : Access::kExchange, SIMT_CALLER);
}

// One OS thread runs everything: no other can come between.
unsigned long long simt_load_word(const void* p, unsigned size) {
  unsigned long long word = 0;
  memcpy(&word, p, size);
  return word;
}
bool simt_swap_word(void* p, unsigned size, unsigned long long expected,
                    unsigned long long desired) {
  if (simt_load_word(p, size) != expected) return false;
  memcpy(p, &desired, size);
  return true;
}

// ---- -fsanitize=bounds,shift-exponent,...: arithmetic that CPU and GPU disagree about -----------
// Data that the compiler passes tells the line too, but the return address tells it already.

void __ubsan_handle_out_of_bounds(void*, void* index) {
  simt::report("index-out-of-bounds", simt::site_of(SIMT_CALLER), 0,
               "uses index %lld, beyond the declared size of the array", (long long)number(index));
  simt::abandon();  // the store that follows might hit the stack
}
void __ubsan_handle_shift_out_of_bounds(void*, void*, void* distance) {
  simt::report("shift", simt::site_of(SIMT_CALLER), 0,
               "shifts by %lld: a CPU takes that modulo the width, a GPU shifts everything out",
               (long long)number(distance));
}
void __ubsan_handle_divrem_overflow(void*, void*, void*) {
  simt::report("division", simt::site_of(SIMT_CALLER), 0,
               "divides integers by zero, or the smallest by -1");
  simt::abandon();  // the division that follows would trap
}
void __ubsan_handle_float_cast_overflow(void*, void*) {
  simt::report("float-to-int", simt::site_of(SIMT_CALLER), 0,
               "converts a float to an integer that cannot hold it: a GPU clamps, a CPU does not");
}

}  // extern "C"
