// arithmetic.h: CUDA's arithmetic that IEEE 754 or the integers define to the last bit. exp, sin
// and the approximate intrinsics are absent on purpose: no CPU reproduces a GPU's bits of them.
#pragma once

#include "keywords.h"

// ---- rounded to nearest ---------------------------------------------------------------------

__forceinline__ float __fadd_rn(float a, float b) { return a + b; }
__forceinline__ float __fsub_rn(float a, float b) { return a - b; }
__forceinline__ float __fmul_rn(float a, float b) { return a * b; }
__forceinline__ float __fdiv_rn(float a, float b) { return a / b; }
__forceinline__ float __frcp_rn(float a) { return 1.0f / a; }
__forceinline__ float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
__forceinline__ float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__forceinline__ double __dadd_rn(double a, double b) { return a + b; }
__forceinline__ double __dsub_rn(double a, double b) { return a - b; }
__forceinline__ double __dmul_rn(double a, double b) { return a * b; }
__forceinline__ double __ddiv_rn(double a, double b) { return a / b; }
__forceinline__ double __drcp_rn(double a) { return 1.0 / a; }
__forceinline__ double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
__forceinline__ double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }

#define SIMT_UNARY(name)                                                    \
  __forceinline__ float name##f(float x) { return __builtin_##name##f(x); } \
  __forceinline__ float name(float x) { return __builtin_##name##f(x); }    \
  __forceinline__ double name(double x) { return __builtin_##name(x); }
SIMT_UNARY(sqrt)
SIMT_UNARY(fabs)
SIMT_UNARY(floor)
SIMT_UNARY(ceil)
SIMT_UNARY(trunc)
SIMT_UNARY(round)
SIMT_UNARY(rint)
SIMT_UNARY(nearbyint)
#undef SIMT_UNARY

__forceinline__ float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__forceinline__ float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__forceinline__ double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
__forceinline__ float copysignf(float x, float sign) { return __builtin_copysignf(x, sign); }
__forceinline__ float copysign(float x, float sign) { return __builtin_copysignf(x, sign); }
__forceinline__ double copysign(double x, double sign) { return __builtin_copysign(x, sign); }
__forceinline__ bool isnan(float x) { return x != x; }
__forceinline__ bool isnan(double x) { return x != x; }
__forceinline__ bool isinf(float x) { return __builtin_fabsf(x) == __builtin_inff(); }
__forceinline__ bool isinf(double x) { return __builtin_fabs(x) == __builtin_inf(); }
__forceinline__ bool isfinite(float x) { return __builtin_fabsf(x) < __builtin_inff(); }
__forceinline__ bool isfinite(double x) { return __builtin_fabs(x) < __builtin_inf(); }
__forceinline__ bool signbit(float x) { return __builtin_signbitf(x); }
__forceinline__ bool signbit(double x) { return __builtin_signbit(x); }

// ---- min, max, abs --------------------------------------------------------------------------

namespace simt {

// PTX: the other operand if one is NaN, and -0 below +0. libm leaves the zeros open.
template <class T>
__forceinline__ T float_min(T a, T b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class T>
__forceinline__ T float_max(T a, T b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return signbit(a) ? b : a;
  return a > b ? a : b;
}

template <class T>
__forceinline__ T smaller(T a, T b) {
  return a < b ? a : b;
}
template <class T>
__forceinline__ T larger(T a, T b) {
  return a > b ? a : b;
}

}  // namespace simt

__forceinline__ float fminf(float a, float b) { return simt::float_min(a, b); }
__forceinline__ float fmaxf(float a, float b) { return simt::float_max(a, b); }
__forceinline__ float fmin(float a, float b) { return simt::float_min(a, b); }
__forceinline__ float fmax(float a, float b) { return simt::float_max(a, b); }
__forceinline__ double fmin(double a, double b) { return simt::float_min(a, b); }
__forceinline__ double fmax(double a, double b) { return simt::float_max(a, b); }
__forceinline__ float min(float a, float b) { return simt::float_min(a, b); }
__forceinline__ float max(float a, float b) { return simt::float_max(a, b); }
__forceinline__ double min(double a, double b) { return simt::float_min(a, b); }
__forceinline__ double max(double a, double b) { return simt::float_max(a, b); }

// Mixed signs compare as unsigned, as CUDA's overloads do.
#define SIMT_MIN_MAX(A, B, T)                                        \
  __forceinline__ T min(A a, B b) { return simt::smaller<T>(a, b); } \
  __forceinline__ T max(A a, B b) { return simt::larger<T>(a, b); }
SIMT_MIN_MAX(int, int, int)
SIMT_MIN_MAX(unsigned, unsigned, unsigned)
SIMT_MIN_MAX(int, unsigned, unsigned)
SIMT_MIN_MAX(unsigned, int, unsigned)
SIMT_MIN_MAX(long, long, long)
SIMT_MIN_MAX(unsigned long, unsigned long, unsigned long)
SIMT_MIN_MAX(long, unsigned long, unsigned long)
SIMT_MIN_MAX(unsigned long, long, unsigned long)
SIMT_MIN_MAX(long long, long long, long long)
SIMT_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
SIMT_MIN_MAX(long long, unsigned long long, unsigned long long)
SIMT_MIN_MAX(unsigned long long, long long, unsigned long long)
#undef SIMT_MIN_MAX

__forceinline__ int abs(int x) { return x < 0 ? -x : x; }
__forceinline__ long abs(long x) { return x < 0 ? -x : x; }
__forceinline__ long long abs(long long x) { return x < 0 ? -x : x; }
__forceinline__ float abs(float x) { return __builtin_fabsf(x); }
__forceinline__ double abs(double x) { return __builtin_fabs(x); }

// ---- bits -----------------------------------------------------------------------------------

__forceinline__ int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__forceinline__ unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
__forceinline__ float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__forceinline__ float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
__forceinline__ long long __double_as_longlong(double x) {
  return __builtin_bit_cast(long long, x);
}
__forceinline__ double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }

__forceinline__ int __popc(unsigned x) { return __builtin_popcount(x); }
__forceinline__ int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__forceinline__ int __ffs(int x) { return __builtin_ffs(x); }
__forceinline__ int __ffsll(long long x) { return __builtin_ffsll(x); }
__forceinline__ int __clz(int x) { return x == 0 ? 32 : __builtin_clz(unsigned(x)); }
__forceinline__ int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}
__forceinline__ unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= ((x >> i) & 1u) << (31 - i);
  return reversed;
}
__forceinline__ int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
__forceinline__ unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned((unsigned long long)a * b >> 32);
}
__forceinline__ unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}

// ---- conversions: a GPU clamps to the range of the integer and makes 0 of a NaN ---------------

namespace simt {

template <class T>
__forceinline__ int clamp_to_int(T rounded) {
  if (rounded != rounded) return 0;
  if (rounded >= T(2147483648.0)) return 2147483647;
  if (rounded < T(-2147483648.0)) return -2147483647 - 1;
  return int(rounded);
}

}  // namespace simt

__forceinline__ int __float2int_rn(float x) { return simt::clamp_to_int(__builtin_rintf(x)); }
__forceinline__ int __float2int_rz(float x) { return simt::clamp_to_int(__builtin_truncf(x)); }
__forceinline__ int __float2int_rd(float x) { return simt::clamp_to_int(__builtin_floorf(x)); }
__forceinline__ int __float2int_ru(float x) { return simt::clamp_to_int(__builtin_ceilf(x)); }
__forceinline__ int __double2int_rn(double x) { return simt::clamp_to_int(__builtin_rint(x)); }
__forceinline__ int __double2int_rz(double x) { return simt::clamp_to_int(__builtin_trunc(x)); }
__forceinline__ float __int2float_rn(int x) { return float(x); }
__forceinline__ float __uint2float_rn(unsigned x) { return float(x); }
__forceinline__ float __double2float_rn(double x) { return float(x); }

// ---- loads and stores that only differ in how they are cached --------------------------------

#define SIMT_LOAD(name)                \
  template <class T>                   \
  __forceinline__ T name(const T* p) { \
    return *p;                         \
  }
#define SIMT_STORE(name)                     \
  template <class T>                         \
  __forceinline__ void name(T* p, T value) { \
    *p = value;                              \
  }
SIMT_LOAD(__ldg)
SIMT_LOAD(__ldca)
SIMT_LOAD(__ldcg)
SIMT_LOAD(__ldcs)
SIMT_LOAD(__ldlu)
SIMT_LOAD(__ldcv)
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
SIMT_STORE(__stwb)
SIMT_STORE(__stwt)
#undef SIMT_LOAD
#undef SIMT_STORE
