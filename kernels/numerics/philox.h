// philox.h: counter-based random numbers (Philox 4x32-10, Salmon et al. 2011). A draw is a pure
// function of the seed and of where it is used, so there is no generator state to save, and any
// split of the work over threads gives the same children.
#pragma once

#include "numerics/elementary.h"

EVONET_NAMESPACE_BEGIN

using uint32 = unsigned int;
using uint64 = unsigned long long;

struct Philox {
  uint32 word[4];
};

// As many draws as fill vectors without much waste for small genomes; loops over them vectorise. A
// thread of a GPU makes one at a time, in registers.
#ifndef EVONET_DRAWS
#define EVONET_DRAWS 8
#endif
static constexpr int kBlock = EVONET_DRAWS;

EVONET_FN uint64 product(uint32 a, uint32 b) { return uint64(a) * b; }
EVONET_FN uint32 lower_half(uint64 word) { return uint32(word); }
EVONET_FN uint32 upper_half(uint64 word) { return uint32(word >> 32); }

#if defined(__AVX512F__)
#define EVONET_WORD_BYTES 64
#elif defined(__AVX2__)
#define EVONET_WORD_BYTES 32
#elif defined(EVONET_X86)
#define EVONET_WORD_BYTES 16
#endif
#if defined(EVONET_WORD_BYTES)
static constexpr int kDrawWords = EVONET_WORD_BYTES / 8;
static_assert(kBlock % kDrawWords == 0, "vectors fill a block");

// Draws side by side, a word for each. One instruction multiplies the lower halves; compilers know
// it, but not that the upper halves do not count, and move them about.
typedef uint64 DrawWords __attribute__((vector_size(EVONET_WORD_BYTES)));
EVONET_FN DrawWords product(DrawWords words, uint32 number) {
  const DrawWords numbers = words * 0 + number;
#if defined(__AVX512F__)  // masked, because GCC 12 warns about its own unmasked one
  return DrawWords(_mm512_maskz_mul_epu32(0xff, __m512i(words), __m512i(numbers)));
#elif defined(__AVX2__)
  return DrawWords(_mm256_mul_epu32(__m256i(words), __m256i(numbers)));
#else
  return DrawWords(_mm_mul_epu32(__m128i(words), __m128i(numbers)));
#endif
}
EVONET_FN DrawWords lower_half(DrawWords words) { return words; }  // the upper ones do not count
EVONET_FN DrawWords upper_half(DrawWords words) { return words >> 32; }
#endif

// Ten rounds on four numbers, or on vectors of words that have them as lower halves.
template <class W>
EVONET_FN void philox_rounds(W& c0, W& c1, W& c2, W& c3, uint32 k0, uint32 k1) {
  EVONET_UNROLL
#if !defined(__CUDACC_RTC__)  // which does not know it
#pragma GCC unroll 10
#endif
  for (int round = 0; round < 10; ++round) {
    const auto p0 = product(c0, 0xD2511F53u), p1 = product(c2, 0xCD9E8D57u);
    c0 = upper_half(p1) ^ c1 ^ k0;
    c1 = lower_half(p1);
    c2 = upper_half(p0) ^ c3 ^ k1;
    c3 = lower_half(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

EVONET_FN Philox philox(uint32 c0, uint32 c1, uint32 c2, uint32 c3, uint32 k0, uint32 k1) {
  philox_rounds(c0, c1, c2, c3, k0, k1);
  return {{c0, c1, c2, c3}};
}

// What a draw is for. Draws with different purposes never share a counter.
enum Purpose : uint32 {
  FOR_PARENTS,
  FOR_INHERITED_CONNECTION,
  FOR_INHERITED_NODE,
  FOR_STRUCTURE,
  FOR_NEW_CONNECTION,
  FOR_NEW_NODE,
  FOR_CONNECTION,
  FOR_NODE,
  FOR_FIRST_CONNECTION,
  FOR_FIRST_NODE,
  FOR_FIRST_STRUCTURE,
  FOR_EPISODE = 64,      // how an episode of a task starts
  FOR_SPLIT,             // which examples are held out
  FOR_BATCH,             // in which order examples are learned from
  FOR_HELD_OUT,          // which of them are not learned from, to stop in time
  FOR_FRONT = 72,        // the weights of a front for images
  FOR_WIDE_WEIGHT = 96,  // first weights of a wide level
  FOR_WIDE_HASH,         // its hash functions
  FOR_WIDE_RESERVOIR,    // what full buckets keep
  FOR_WIDE_QUERY,        // which tables a sample asks
  FOR_WIDE_NEGATIVES,    // nodes that a batch adds at random
  FOR_WIDE_ORDER,        // the order of samples
  FOR_WIDE_PLANTED       // examples with a planted structure
};

struct PhiloxBlock {
  uint32 word[4][kBlock];
};

// The draws first, first + stride, ..., as many as count; stride is 1, 2 or 4.
struct DrawRun {
  Purpose purpose;
  uint32 first, stride;
  int32 count;
};

// All draws of one child of one generation.
struct Draws {
  uint64 seed;
  uint32 generation, child;

  EVONET_METHOD Philox operator()(Purpose purpose, uint32 draw) const {
    return philox(draw, purpose, child, generation, uint32(seed), uint32(seed >> 32));
  }

  // Says which draws come next; native/prepared_draws.h makes them at once.
  template <int N>
  EVONET_METHOD void prepare(const DrawRun (&)[N]) const {}

  // A draw that may have been prepared.
  EVONET_METHOD Philox early(Purpose purpose, uint32 draw) const { return (*this)(purpose, draw); }

#if defined(EVONET_WORD_BYTES)
  // Draws side by side; word w of them goes to words[w * row] and what follows.
  EVONET_METHOD void make(DrawWords draw, DrawWords purpose, uint32* words, int row) const {
    DrawWords c2 = DrawWords{} + child, c3 = DrawWords{} + generation;
    philox_rounds(draw, purpose, c2, c3, uint32(seed), uint32(seed >> 32));
    const DrawWords made[4] = {draw, purpose, c2, c3};
    typedef uint32 Halves
        __attribute__((vector_size(EVONET_WORD_BYTES / 2), may_alias, aligned(4)));
    for (int w = 0; w < 4; ++w) {
      *reinterpret_cast<Halves*>(words + w * row) = __builtin_convertvector(made[w], Halves);
    }
  }
#endif

  // The draws first, first + stride, ...
  EVONET_METHOD PhiloxBlock block(Purpose purpose, uint32 first, uint32 stride) const {
    PhiloxBlock all;
#if defined(EVONET_WORD_BYTES)
    DrawWords steps{};
    for (int k = 0; k < kDrawWords; ++k) steps[k] = uint32(k) * stride;
    for (int i = 0; i < kBlock; i += kDrawWords) {
      make(steps + uint64(first + uint32(i) * stride), DrawWords{} + uint64(purpose),
           all.word[0] + i, kBlock);
    }
#else
    for (int i = 0; i < kBlock; ++i) {
      const Philox one = (*this)(purpose, first + uint32(i) * stride);
      for (int w = 0; w < 4; ++w) all.word[w][i] = one.word[w];
    }
#endif
    return all;
  }
};

// [0, 1), a multiple of 2^-24: exact in any type.
template <class T = float>
EVONET_FN T uniform(uint32 word) {
  return T(int32(word >> 8)) * T(0x1p-24);
}

// 0..count-1.
EVONET_FN int32 choose(uint32 word, int32 count) {
  return int32((uint64(word) * uint64(uint32(count))) >> 32);
}

// Mean 0, deviation 1, by Box and Muller; at most 5.8 in magnitude.
EVONET_FN float normal(uint32 a, uint32 b) {
  float u = float(int32(a >> 8) + 1) * 0x1p-24f;
  return square_root(-2.0f * log_float(u)) * sin_of_5(uniform(b) * 0x1.41b2f8p+0f);  // 2 pi / 5
}

EVONET_NAMESPACE_END
