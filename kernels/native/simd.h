// simd.h: rows of samples as vector types of the compiler, on which the portable formulas run
// unchanged.
#pragma once

#include <cstdint>

#include "numerics/portable.h"

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

// The processor's own vectors.
template <class T>
constexpr int kVectorLanes = kVectorBytes / int{sizeof(T)};
template <class T>
using FullVector = Vector<T, kVectorLanes<T>>;

// The same vector wherever it lies in memory.
template <class V, class T>
struct Unaligned {
  typedef V type __attribute__((may_alias, aligned(alignof(T))));
};

template <class V, class T>
EVONET_FN V load(const T* from) {
  return *reinterpret_cast<const typename Unaligned<V, T>::type*>(from);
}

template <class V, class T>
EVONET_FN void store(T* to, V v) {
  *reinterpret_cast<typename Unaligned<V, T>::type*>(to) = v;
}

template <class V, class T>
EVONET_FN V broadcast(T x) {
  return x - V{};  // exact for every x, -0 too
}

// A row of one number or of whole vectors.
template <class T>
EVONET_FN void copy_row(T* to, const T* from, int width) {
  if (width == 1) {
    *to = *from;
  } else {
    for (int i = 0; i < width; i += kVectorLanes<T>) {
      store(to + i, load<FullVector<T>>(from + i));
    }
  }
}

// Networks side by side take two vectors: one hides the latency of the other.
template <class T>
constexpr int kGroupLanes = 2 * kVectorLanes<T>;

// Lane i gets from[at[i]]. Only floats gain from the gather instruction; for doubles, loads and
// inserts took a quarter less time where it was measured (Zen 4).
template <class V, class T>
EVONET_FN V gather(const T* from, const int32_t* at) {
#if defined(__AVX512F__)
  // Masked, because GCC 12 warns about its own unmasked ones.
  if constexpr (sizeof(V) == 64 && sizeof(T) == 4) {
    return V(
        _mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, _mm512_loadu_si512(at), from, 4));
  }
#endif
  V v{};
  for (unsigned i = 0; i < sizeof(V) / sizeof(T); ++i) v[i] = from[at[i]];
  return v;
}

EVONET_NAMESPACE_END
