// vector_types.h: CUDA's small vectors, with CUDA's alignment, and dim3.
#pragma once

#include "keywords.h"

namespace simt {
// The scalar that a value consists of; what a NumPy array must hold to be passed as a T*.
template <class T>
struct ScalarOf {
  using type = T;
};
}  // namespace simt

#define SIMT_VECTOR(T, name, align2, align4)                                                       \
  struct __align__(align2) name##2 { T x, y; };                                                    \
  struct name##3 { T x, y, z; };                                                                   \
  struct __align__(align4) name##4 { T x, y, z, w; };                                              \
  static inline __attribute__((always_inline)) name##2 make_##name##2(T x, T y) { return {x, y}; } \
  static inline __attribute__((always_inline)) name##3 make_##name##3(T x, T y, T z) {             \
    return {x, y, z};                                                                              \
  }                                                                                                \
  static inline __attribute__((always_inline)) name##4 make_##name##4(T x, T y, T z, T w) {        \
    return {x, y, z, w};                                                                           \
  }                                                                                                \
  template <>                                                                                      \
  struct simt::ScalarOf<name##2> {                                                                 \
    using type = T;                                                                                \
  };                                                                                               \
  template <>                                                                                      \
  struct simt::ScalarOf<name##3> {                                                                 \
    using type = T;                                                                                \
  };                                                                                               \
  template <>                                                                                      \
  struct simt::ScalarOf<name##4> {                                                                 \
    using type = T;                                                                                \
  };

SIMT_VECTOR(signed char, char, 2, 4)
SIMT_VECTOR(unsigned char, uchar, 2, 4)
SIMT_VECTOR(short, short, 4, 8)
SIMT_VECTOR(unsigned short, ushort, 4, 8)
SIMT_VECTOR(int, int, 8, 16)
SIMT_VECTOR(unsigned, uint, 8, 16)
SIMT_VECTOR(long long, longlong, 16, 16)
SIMT_VECTOR(unsigned long long, ulonglong, 16, 16)
SIMT_VECTOR(float, float, 8, 16)
SIMT_VECTOR(double, double, 16, 16)
#undef SIMT_VECTOR

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
