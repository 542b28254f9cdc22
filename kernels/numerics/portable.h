// portable.h: what the kernels need from a compiler, be it g++, clang, nvcc or NVRTC.
// Every header lives in one namespace per instruction set: the same source is compiled several
// times with different flags, and the linker must never merge two of the results.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define EVONET_FN __host__ __device__ __forceinline__
#define EVONET_METHOD __host__ __device__ __forceinline__
#else
#define EVONET_FN static inline __attribute__((always_inline))
#define EVONET_METHOD inline __attribute__((always_inline))
#if defined(__SSE2__)
#define EVONET_X86
#include <immintrin.h>
#endif
#endif

// In front of a loop: a copy of the body for every turn, or one body that stays a loop. Only GPU
// compilers need the hint.
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define EVONET_UNROLL _Pragma("unroll")
#define EVONET_KEEP_LOOP _Pragma("unroll 1")
#else
#define EVONET_UNROLL
#define EVONET_KEEP_LOOP
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
using int64 = long long;

// In all formulas T is float, double or, on the CPU, a vector type of the compiler. Loops over
// numbers vectorise too, but GCC moves arithmetic into the selects and needs a third more time.

// The number that T holds, once or many times.
template <class T, class = T>
struct LaneOf {
  using type = T;
};
template <class V>
struct LaneOf<V, decltype(V()[0], V())> {
  using type = decltype(+V()[0]);
};
template <class T>
using Lane = typename LaneOf<T>::type;

// Integers as wide as the numbers.
template <class T>
struct BitsOf {
  using type = decltype(T() < T());
};
template <>
struct BitsOf<float> {
  using type = int32;
};
template <>
struct BitsOf<double> {
  using type = int64;
};
template <class T>
using Bits = typename BitsOf<T>::type;

// The same integers without a sign, for arithmetic that may carry: in vectors, too, only these
// wrap by definition.
template <class T>
struct WordsOf {
#if !defined(__CUDACC__) && !defined(__CUDACC_RTC__)  // which know no vectors
  typedef typename WordsOf<Lane<T>>::type type __attribute__((vector_size(sizeof(T))));
#endif
};
template <>
struct WordsOf<float> {
  using type = unsigned int;
};
template <>
struct WordsOf<double> {
  using type = unsigned long long;
};
template <class T>
using Words = typename WordsOf<T>::type;

template <class T>
constexpr bool kIsFloat = sizeof(Lane<T>) == 4;
template <class T>
constexpr bool kIsVector = sizeof(Lane<T>) != sizeof(T);

// x in all lanes; x may have them already.
template <class T>
EVONET_FN T all(T x) {
  return x;
}
template <class T, class = decltype(T()[0])>
EVONET_FN T all(Lane<T> x) {
  return x - T{};
}

template <class T>
EVONET_FN Bits<T> to_bits(T x) {
  return __builtin_bit_cast(Bits<T>, x);
}
template <class T>
EVONET_FN T from_bits(Bits<T> x) {
  return __builtin_bit_cast(T, x);
}
template <class T>
EVONET_FN Words<T> to_words(T x) {
  return __builtin_bit_cast(Words<T>, x);
}

// The bits of x, the upper ones shifted out; of a signed integer C++17 does not allow that.
template <class T>
EVONET_FN Bits<T> bits_shifted(T x, int left) {
  return __builtin_bit_cast(Bits<T>, to_words(x) << static_cast<Lane<Words<T>>>(left));
}

// The sum of the bits of a number and another one, without what is carried out of them; that
// happens to NaN, and the sum of signed integers may not overflow.
template <class T, class Number>
EVONET_FN Bits<T> bits_plus(Bits<T> bits, Number number) {
  return __builtin_bit_cast(Bits<T>,
                            to_words(from_bits<T>(bits)) + static_cast<Lane<Words<T>>>(number));
}

template <class T>
EVONET_FN T magnitude(T x) {
  if constexpr (kIsFloat<T>)
    return from_bits<T>(to_bits(x) & 0x7fffffff);
  else
    return from_bits<T>(to_bits(x) & 0x7fffffffffffffff);
}

// size >= 0 with the sign of x.
template <class T>
EVONET_FN T copy_sign(T size, T x) {
  if constexpr (kIsFloat<T>)
    return from_bits<T>(to_bits(size) | (to_bits(x) & ~0x7fffffff));
  else
    return from_bits<T>(to_bits(size) | (to_bits(x) & ~0x7fffffffffffffff));
}

// Chips disagree about the sign and payload of a NaN they make; equal bits need one NaN.
template <class T>
EVONET_FN T canonical(T x) {
  if constexpr (kIsFloat<T>)
    return x == x ? x : all<T>(from_bits<float>(0x7fc00000));
  else
    return x == x ? x : all<T>(from_bits<double>(0x7ff8000000000000));
}

// Python's min(limit, x) and max(limit, x): the limit if x is NaN.
template <class T>
EVONET_FN T at_most(T x, T limit) {
  return x < limit ? x : limit;
}
template <class T>
EVONET_FN T at_least(T x, T limit) {
  return x > limit ? x : limit;
}

#if defined(EVONET_X86)
// One instruction does just that, but GCC does not see it when the limit is a constant.
#define EVONET_LIMITS(V, NUMBER, BYTES, MIN, MAX, ...)                    \
  typedef NUMBER V __attribute__((vector_size(BYTES)));                   \
  EVONET_FN V at_most(V x, V limit) { return MIN(__VA_ARGS__ x, limit); } \
  EVONET_FN V at_least(V x, V limit) { return MAX(__VA_ARGS__ x, limit); }
EVONET_LIMITS(Float4, float, 16, _mm_min_ps, _mm_max_ps, )
EVONET_LIMITS(Double2, double, 16, _mm_min_pd, _mm_max_pd, )
#if defined(__AVX__)
EVONET_LIMITS(Float8, float, 32, _mm256_min_ps, _mm256_max_ps, )
EVONET_LIMITS(Double4, double, 32, _mm256_min_pd, _mm256_max_pd, )
#endif
#if defined(__AVX512F__)  // masked, because GCC 12 warns about its own unmasked ones
EVONET_LIMITS(Float16, float, 64, _mm512_maskz_min_ps, _mm512_maskz_max_ps, 0xffff, )
EVONET_LIMITS(Double8, double, 64, _mm512_maskz_min_pd, _mm512_maskz_max_pd, 0xff, )
#endif
#undef EVONET_LIMITS
#endif

#if defined(__CUDA_ARCH__)
EVONET_FN float fused_lanes(float a, float b, float c) { return __fmaf_rn(a, b, c); }
EVONET_FN double fused_lanes(double a, double b, double c) { return __fma_rn(a, b, c); }
#elif defined(__FMA__) || defined(__aarch64__) || defined(__FP_FAST_FMAF)
EVONET_FN float fused_lanes(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
EVONET_FN double fused_lanes(double a, double b, double c) { return __builtin_fma(a, b, c); }
#define EVONET_FMA(BYTES, VECTOR, FUSE) \
  if constexpr (sizeof(T) == BYTES) return T(FUSE((VECTOR)a, (VECTOR)b, (VECTOR)c));
template <class T>
EVONET_FN T fused_lanes(T a, T b, T c) {
  // By name: GCC does not always see one instruction in a loop over the lanes.
  if constexpr (kIsFloat<T>) {
#if defined(__AVX512F__)
    EVONET_FMA(64, __m512, _mm512_fmadd_ps)
#endif
#if defined(__FMA__)
    EVONET_FMA(32, __m256, _mm256_fmadd_ps)
    EVONET_FMA(16, __m128, _mm_fmadd_ps)
#endif
  } else {
#if defined(__AVX512F__)
    EVONET_FMA(64, __m512d, _mm512_fmadd_pd)
#endif
#if defined(__FMA__)
    EVONET_FMA(32, __m256d, _mm256_fmadd_pd)
    EVONET_FMA(16, __m128d, _mm_fmadd_pd)
#endif
  }
  T r;
  for (unsigned i = 0; i < sizeof(T) / sizeof(Lane<T>); ++i) r[i] = fused_lanes(a[i], b[i], c[i]);
  return r;
}
#undef EVONET_FMA
#else
#define EVONET_SLOW_FMA  // many instructions
// p + c, rounded to odd: truncated, then the last bit set if anything was lost. That much of the
// sum is enough to round it again, to float, as if the first rounding had not been.
template <class D>
EVONET_FN D add_to_odd(D p, D c) {
  D s = p + c;
  D t = s - p;
  D lost = ((p - (s - t)) + (c - t)) * s;
  Bits<D> zero = {}, below = lost < D{} ? ~zero : zero, above = lost > D{} ? ~zero : zero;
  return from_bits<D>((to_bits(s) + below) | ((below | above) & 1));
}
// It matters only if s lies halfway between two floats, or the float is subnormal: hardly ever. A
// branch around it keeps it out of the dependency chain. Called, not inlined: formulas have dozens.
inline __attribute__((noinline)) float fused_lanes(float a, float b, float c) {
  double p = double(a) * double(b), s = p + double(c);
  bool halfway = (to_bits(s) & 0x1fffffff) == 0x10000000;
  if (halfway || (magnitude(s) < 0x1p-126 && s != 0.0)) s = add_to_odd(p, double(c));
  return float(s);
}
// Doubles, after Boldo and Melquiond: the product and its sum with c, each with what it lost, and
// what they lost together rounded to odd. For products that are 0 or above 2^-960; below, it rounds
// to what c is.
template <class D>
EVONET_FN D upper_half(D x) {
  D shifted = x * 0x1.0000002p+27;
  return shifted - (shifted - x);
}
template <class D>
EVONET_FN D fused_doubles(D a, D b, D c) {
  D p = a * b;
  D a1 = upper_half(a), a2 = a - a1, b1 = upper_half(b), b2 = b - b1;
  D lost = a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2);
  D t = c + lost, part = t - c;
  D t_lost = (c - (t - part)) + (lost - part);
  D s = p + t;
  part = s - p;
  D s_lost = (p - (s - part)) + (t - part);
  D sum = s + add_to_odd(t_lost, s_lost);
  return p == D{} ? p + c : sum;
}
inline __attribute__((noinline)) double fused_lanes(double a, double b, double c) {
  return fused_doubles(a, b, c);
}
template <class T>
inline __attribute__((noinline)) T fused_vectors(T a, T b, T c) {
  return fused_doubles(a, b, c);
}
template <class T>
EVONET_FN T fused_lanes(T a, T b, T c) {
  if constexpr (!kIsFloat<T>) return fused_vectors(a, b, c);
  T r;
  for (unsigned i = 0; i < sizeof(T) / sizeof(Lane<T>); ++i) r[i] = fused_lanes(a[i], b[i], c[i]);
  return r;
}
#if defined(EVONET_X86)
inline __attribute__((noinline)) Float4 fused_lanes(Float4 a, Float4 b, Float4 c) {
  auto lower = [](__m128 x) { return Double2(_mm_cvtps_pd(x)); };
  auto upper = [](__m128 x) { return Double2(_mm_cvtps_pd(_mm_movehl_ps(x, x))); };
  auto delicate = [](Double2 s) {  // SSE2 compares no 64-bit integers; the upper 32 differ
    __m128i cut = _mm_and_si128(_mm_castpd_si128(s), _mm_set1_epi64x(0x1fffffff));
    __m128i halfway = _mm_cmpeq_epi32(cut, _mm_set1_epi64x(0x110000000));
    return halfway | __m128i((magnitude(s) < 0x1p-126) & (s != 0.0));
  };
  Double2 p = lower(a) * lower(b), q = upper(a) * upper(b);
  Double2 s = p + lower(c), t = q + upper(c);
  if (__builtin_expect(_mm_movemask_epi8(delicate(s) | delicate(t)), 0)) {
    s = add_to_odd(p, lower(c));
    t = add_to_odd(q, upper(c));
  }
  return _mm_movelh_ps(_mm_cvtpd_ps(s), _mm_cvtpd_ps(t));
}
#endif
#endif

// a * b + c, rounded once.
template <class A, class B, class C>
EVONET_FN auto fused(A a, B b, C c) {
  using T = decltype(a * b + c);
  return fused_lanes(all<T>(a), all<T>(b), all<T>(c));
}

EVONET_FN float square_root(float x) {
#if defined(__CUDA_ARCH__)
  return __fsqrt_rn(x);
#else
  return __builtin_sqrtf(x);
#endif
}

EVONET_FN double square_root(double x) {
#if defined(__CUDA_ARCH__)
  return __dsqrt_rn(x);
#else
  return __builtin_sqrt(x);
#endif
}
template <class T, class = decltype(T()[0])>
EVONET_FN T square_root(T x) {
  for (unsigned i = 0; i < sizeof(T) / sizeof(Lane<T>); ++i) x[i] = square_root(x[i]);
  return x;
}

// Float32 multiplies and adds in one rounding; float64 in two, as neat-python does.
template <class T>
EVONET_FN T multiply_add(T a, T b, T c) {
  if constexpr (kIsFloat<T>)
    return fused(a, b, c);
  else
    return a * b + c;
}

EVONET_NAMESPACE_END
