// simd.h: rows of samples as vector types of the compiler, on which the portable formulas run
// unchanged.
#pragma once

#include <cstdint>
#include <cstring>

#include "portable.h"

EVONET_NAMESPACE_BEGIN

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// The widest vector that both the processor and a block of W samples can fill.
template <class T, int W>
constexpr int kLanes = W * int{sizeof(T)} < kVectorBytes ? W : kVectorBytes / int{sizeof(T)};

template <class T, int N>
struct VectorOf {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class T>
struct VectorOf<T, 1> {
  using type = T;
};
template <class T, int W>
using Vector = typename VectorOf<T, kLanes<T, W>>::type;

template <class V, class T>
EVONET_FN V load(const T* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class V, class T>
EVONET_FN void store(T* to, V v) {
  std::memcpy(to, &v, sizeof v);
}

template <class V, class T>
EVONET_FN V broadcast(T x) {
  if constexpr (sizeof(V) == sizeof(T)) {
    return x;
  } else {
    V v;
    for (unsigned i = 0; i < sizeof(V) / sizeof(T); ++i) v[i] = x;
    return v;
  }
}

EVONET_NAMESPACE_END
