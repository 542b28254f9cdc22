// portable.h: what the kernels need from a compiler, be it g++, clang, nvcc or NVRTC.
// Every header lives in one namespace per instruction set: the same source is compiled several
// times with different flags, and the linker must never merge two of the results.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define EVONET_FN __host__ __device__ __forceinline__
#else
#define EVONET_FN static inline __attribute__((always_inline))
#endif

#ifndef EVONET_ISA
#define EVONET_ISA generic
#endif

// clang-format off
#define EVONET_NAMESPACE_BEGIN namespace evonet { inline namespace EVONET_ISA {
#define EVONET_NAMESPACE_END } }
// clang-format on

EVONET_NAMESPACE_BEGIN

using int32 = int;
using uint32 = unsigned int;
using int64 = long long;
using uint64 = unsigned long long;

EVONET_FN int32 to_bits(float x) { return __builtin_bit_cast(int32, x); }
EVONET_FN int64 to_bits(double x) { return __builtin_bit_cast(int64, x); }
EVONET_FN float from_bits(int32 x) { return __builtin_bit_cast(float, x); }
EVONET_FN double from_bits(int64 x) { return __builtin_bit_cast(double, x); }

// Chips disagree about the sign and payload of a NaN they make; equal bits need one NaN.
EVONET_FN float canonical(float x) { return x == x ? x : from_bits(int32(0x7fc00000)); }
EVONET_FN double canonical(double x) { return x == x ? x : from_bits(int64(0x7ff8000000000000)); }

// a * b + c, rounded once.
EVONET_FN float fused(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#elif defined(__FMA__) || defined(__aarch64__) || defined(__FP_FAST_FMAF)
  return __builtin_fmaf(a, b, c);
#else
  // The product is exact in double. Rounding the sum to odd (truncate, then set the last bit if
  // anything was lost) makes the second rounding, to float, the only one that counts.
  double p = double(a) * double(b);
  double z = double(c);
  double s = p + z;
  double t = s - p;
  double lost = ((p - (s - t)) + (z - t)) * s;  // > 0: s is too small in magnitude; < 0: too large
  int64 truncated = to_bits(s) + (lost < 0.0 ? int64(-1) : int64(0));
  int64 sticky = (lost < 0.0 ? int64(1) : int64(0)) | (lost > 0.0 ? int64(1) : int64(0));
  return float(from_bits(truncated | sticky));
#endif
}

// Float32 multiplies and adds in one rounding; float64 in two, as neat-python does.
EVONET_FN float multiply_add(float a, float b, float c) { return fused(a, b, c); }
EVONET_FN double multiply_add(double a, double b, double c) { return a * b + c; }

#if !defined(__CUDACC__) && !defined(__CUDACC_RTC__)
// The same for a vector type of the compiler, lane by lane; it becomes one instruction.
template <class V>
EVONET_FN auto multiply_add(V a, V b, V c) -> decltype(a[0], V()) {
  V r = {};
  for (unsigned i = 0; i < sizeof(V) / sizeof(a[0]); ++i) r[i] = multiply_add(a[i], b[i], c[i]);
  return r;
}
#endif

EVONET_NAMESPACE_END
