// atomics.h: CUDA's atomics on shared and global memory, all made of compare-and-swap. Overloads
// exist for the types that CUDA has them for, so that what nvcc refuses is refused here too.
#pragma once

#include "keywords.h"

#ifdef SIMT_CHECKED
// In the runtime library, whose own accesses are not instrumented. The first tells the checker
// about an atomic access of the calling line.
extern "C" {
void simt_atomic_access(const volatile void* address, unsigned size, bool uses_value);
unsigned long long simt_load_word(const volatile void* address, unsigned size);
bool simt_swap_word(volatile void* address, unsigned size, unsigned long long expected,
                    unsigned long long desired);
}
#endif

namespace simt {

template <unsigned size>
struct WordOf;
template <>
struct WordOf<2> {
  using type = unsigned short;
};
template <>
struct WordOf<4> {
  using type = unsigned;
};
template <>
struct WordOf<8> {
  using type = unsigned long long;
};

template <class W>
__forceinline__ W load_word(const volatile W* p) {
#ifdef SIMT_CHECKED
  return W(simt_load_word(p, sizeof(W)));
#else
  return __atomic_load_n(p, __ATOMIC_RELAXED);
#endif
}
template <class W>
__forceinline__ bool swap_word(volatile W* p, W expected, W desired) {
#ifdef SIMT_CHECKED
  return simt_swap_word(p, sizeof(W), expected, desired);
#else
  return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_RELAXED);
#endif
}

// A lambda that stays in the line of its caller even where nothing else is optimised.
#define SIMT_LAMBDA(T) [&]([[maybe_unused]] T old) __attribute__((always_inline))->T

// *p = update(*p) at once; returns what *p was.
template <bool uses_value = true, class T, class Update>
__forceinline__ T atomic_update(T* p, Update update) {
  using Word = typename WordOf<sizeof(T)>::type;
#ifdef SIMT_CHECKED
  simt_atomic_access(p, sizeof(T), uses_value);
#endif
  volatile Word* word = reinterpret_cast<volatile Word*>(p);
  for (;;) {
    Word old = load_word(word);
    T value = __builtin_bit_cast(T, old);
    Word desired = __builtin_bit_cast(Word, T(update(value)));
    if (swap_word(word, old, desired)) return value;
  }
}

}  // namespace simt

#define SIMT_ATOMIC(name, T, expression)                                  \
  __forceinline__ T name(T* p, T operand) {                               \
    return simt::atomic_update(p, SIMT_LAMBDA(T) { return expression; }); \
  }
#define SIMT_ATOMIC_INTEGERS(name, expression) \
  SIMT_ATOMIC(name, int, expression)           \
  SIMT_ATOMIC(name, unsigned, expression)      \
  SIMT_ATOMIC(name, unsigned long long, expression)

// Through unsigned: GPU integers wrap.
__forceinline__ int atomicAdd(int* p, int operand) {
  return simt::atomic_update(
      p, SIMT_LAMBDA(int) { return int(unsigned(old) + unsigned(operand)); });
}
SIMT_ATOMIC(atomicAdd, unsigned, old + operand)
SIMT_ATOMIC(atomicAdd, unsigned long long, old + operand)
SIMT_ATOMIC(atomicAdd, float, old + operand)
SIMT_ATOMIC(atomicAdd, double, old + operand)
__forceinline__ int atomicSub(int* p, int operand) {
  return simt::atomic_update(
      p, SIMT_LAMBDA(int) { return int(unsigned(old) - unsigned(operand)); });
}
SIMT_ATOMIC(atomicSub, unsigned, old - operand)
SIMT_ATOMIC_INTEGERS(atomicMin, old < operand ? old : operand)
SIMT_ATOMIC(atomicMin, long long, old < operand ? old : operand)
SIMT_ATOMIC_INTEGERS(atomicMax, old > operand ? old : operand)
SIMT_ATOMIC(atomicMax, long long, old > operand ? old : operand)
SIMT_ATOMIC_INTEGERS(atomicAnd, old& operand)
SIMT_ATOMIC_INTEGERS(atomicOr, old | operand)
SIMT_ATOMIC_INTEGERS(atomicXor, old ^ operand)
SIMT_ATOMIC(atomicInc, unsigned, old >= operand ? 0 : old + 1)
SIMT_ATOMIC(atomicDec, unsigned, old == 0 || old > operand ? operand : old - 1)
#undef SIMT_ATOMIC_INTEGERS
#undef SIMT_ATOMIC

#define SIMT_ATOMIC_EXCH(T)                                                   \
  __forceinline__ T atomicExch(T* p, T operand) {                             \
    return simt::atomic_update<false>(p, SIMT_LAMBDA(T) { return operand; }); \
  }
SIMT_ATOMIC_EXCH(int)
SIMT_ATOMIC_EXCH(unsigned)
SIMT_ATOMIC_EXCH(unsigned long long)
SIMT_ATOMIC_EXCH(float)
#undef SIMT_ATOMIC_EXCH

#define SIMT_ATOMIC_CAS(T)                                                                     \
  __forceinline__ T atomicCAS(T* p, T expected, T desired) {                                   \
    return simt::atomic_update(p, SIMT_LAMBDA(T) { return old == expected ? desired : old; }); \
  }
SIMT_ATOMIC_CAS(unsigned short)
SIMT_ATOMIC_CAS(int)
SIMT_ATOMIC_CAS(unsigned)
SIMT_ATOMIC_CAS(unsigned long long)
#undef SIMT_ATOMIC_CAS
#undef SIMT_LAMBDA
