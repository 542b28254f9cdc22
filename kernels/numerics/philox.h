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

EVONET_FN Philox philox(uint32 c0, uint32 c1, uint32 c2, uint32 c3, uint32 k0, uint32 k1) {
  EVONET_UNROLL
#if !defined(__CUDACC_RTC__)  // which does not know it
#pragma GCC unroll 10
#endif
  for (int round = 0; round < 10; ++round) {
    uint64 p0 = uint64(0xD2511F53u) * c0, p1 = uint64(0xCD9E8D57u) * c2;
    c0 = uint32(p1 >> 32) ^ c1 ^ k0;
    c1 = uint32(p1);
    c2 = uint32(p0 >> 32) ^ c3 ^ k1;
    c3 = uint32(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
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

// As many draws as fill vectors without much waste for small genomes; loops over them vectorise. A
// thread of a GPU makes one at a time, in registers.
#ifndef EVONET_DRAWS
#define EVONET_DRAWS 8
#endif
static constexpr int kBlock = EVONET_DRAWS;

struct PhiloxBlock {
  uint32 word[4][kBlock];
};

// All draws of one child of one generation.
struct Draws {
  uint64 seed;
  uint32 generation, child;

  EVONET_METHOD Philox operator()(Purpose purpose, uint32 draw) const {
    return philox(draw, purpose, child, generation, uint32(seed), uint32(seed >> 32));
  }

  // The draws first, first + stride, ...
  EVONET_METHOD PhiloxBlock block(Purpose purpose, uint32 first, uint32 stride) const {
    PhiloxBlock all;
    for (int i = 0; i < kBlock; ++i) {
      const Philox one = (*this)(purpose, first + uint32(i) * stride);
      all.word[0][i] = one.word[0];
      all.word[1][i] = one.word[1];
      all.word[2][i] = one.word[2];
      all.word[3][i] = one.word[3];
    }
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
