// barriers.h: block barriers, fences, traps. All are calls into the runtime library, so that the
// return address tells the line of the kernel.
#pragma once

extern "C" {
void __syncthreads();
int __syncthreads_count(int predicate);
int __syncthreads_and(int predicate);
int __syncthreads_or(int predicate);
void __threadfence();
void __threadfence_block();
void __threadfence_system();
void simt_yield();
[[noreturn]] void __trap();
[[noreturn]] void simt_assertion_failed(const char* condition);
}

// Lets the other threads of the block run. Inline, because libc exports another __nanosleep.
inline __attribute__((always_inline)) void __nanosleep(unsigned) { simt_yield(); }

#ifdef NDEBUG
#define assert(condition) static_cast<void>(0)
#else
#define assert(condition) ((condition) ? static_cast<void>(0) : simt_assertion_failed(#condition))
#endif
