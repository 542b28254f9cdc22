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

// Lane i gets *place(i). Loads and inserts: the gather instruction took a third more time where it
// was measured (Zen 4), and what GCC makes of the plain loop for floats a seventh.
template <class V, class T, class Place>
EVONET_FN V collect(Place place) {
#if defined(__AVX2__)
  if constexpr (sizeof(T) == 4) {
    const auto four = [&](int i) {
      __m128 v = _mm_load_ss(place(i));
      v = _mm_insert_ps(v, _mm_load_ss(place(i + 1)), 0x10);
      v = _mm_insert_ps(v, _mm_load_ss(place(i + 2)), 0x20);
      return _mm_insert_ps(v, _mm_load_ss(place(i + 3)), 0x30);
    };
    const auto eight = [&](int i) {
      return _mm256_insertf128_ps(_mm256_castps128_ps256(four(i)), four(i + 4), 1);
    };
#if defined(__AVX512F__)
    return V(_mm512_insertf32x8(_mm512_castps256_ps512(eight(0)), eight(8), 1));
#else
    return V(eight(0));
#endif
  }
#endif
  V v{};
  for (unsigned i = 0; i < sizeof(V) / sizeof(T); ++i) v[i] = *place(i);
  return v;
}

// Lane i gets from[at[i]].
template <class V, class T>
EVONET_FN V gather(const T* from, const int32_t* at) {
  return collect<V, T>([&](int i) { return from + at[i]; });
}

// An element of each in turn: a0 b0 a1 b1 ..., in two vectors.
template <class V>
EVONET_FN void interleave(V a, V b, V& first, V& second) {
  constexpr int kCount = sizeof(V) / sizeof(a[0]);
#if defined(__clang__)  // which makes shuffles of this by itself
  for (int i = 0; i < kCount; ++i) {
    first[i] = i % 2 == 0 ? a[i / 2] : b[i / 2];
    second[i] = i % 2 == 0 ? a[(kCount + i) / 2] : b[(kCount + i) / 2];
  }
#else
  Bits<V> low{}, high{};
  for (int i = 0; i < kCount; ++i) {
    low[i] = i / 2 + i % 2 * kCount;
    high[i] = low[i] + kCount / 2;
  }
  first = __builtin_shuffle(a, b, low);
  second = __builtin_shuffle(a, b, high);
#endif
}

EVONET_NAMESPACE_END
