// addresses.h: places in memory, in as few instructions as GPUs have for them.
#pragma once

#include "numerics/portable.h"

// Whether a compiler makes code for GPUs, and not for the runner of the tests, which takes the same
// branches otherwise.
#if (defined(__CUDACC_RTC__) || defined(__NVCC__)) && !defined(EVONET_SIMT)
#define EVONET_PTX 1
#else
#define EVONET_PTX 0
#endif

EVONET_NAMESPACE_BEGIN

// The product of two numbers that are not known when a kernel is compiled, in one instruction.
// NVRTC widens the factor that stays the same in front of a loop, and then multiplies 64 bits
// by 64.
EVONET_FN int64 wide_product(int32 a, int32 b) {
#if EVONET_PTX
  int64 product;
  asm("mul.wide.s32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
#else
  return int64(a) * b;
#endif
}

// A place in global memory that loops start from as it is. NVRTC would take it apart again and add
// its parts for every link, two instructions more.
template <class Byte>
EVONET_FN Byte* fixed(Byte* place) {
#if EVONET_PTX
  asm("" : "+l"(place));
  __builtin_assume(__isGlobal(place));
#endif
  return place;
}

// A place that is not known before this line is reached. Else NVRTC computes all that depends on it
// in front of a loop, and for Blackwell spills what it has no registers for.
template <class T>
EVONET_FN T* unknown(T* place) {
#if EVONET_PTX
  asm volatile("" : "+l"(place));
#endif
  return place;
}

EVONET_NAMESPACE_END
