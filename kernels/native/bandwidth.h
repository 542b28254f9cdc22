// bandwidth.h: how fast vectors can be read from wherever they lie, the yardstick for work that
// waits for memory instead of arithmetic.
#pragma once

#include "native/simd.h"

EVONET_NAMESPACE_BEGIN

constexpr int kStreams = 8;  // enough loads in flight for every load port
constexpr int kReadLanes = kVectorBytes / int{sizeof(int32_t)};
// What read_rows takes a multiple of.
constexpr int64_t kReadBlock = int64_t{kStreams} * kReadLanes;

// Reads `count` numbers, a multiple of kReadBlock, `turns` times; returns the bytes that were read.
// Exclusive or is the cheapest operation that needs what it loads.
inline int64_t read_rows(const int32_t* data, int64_t count, int64_t turns, int32_t* sink) {
  using V = Vector<int32_t, kReadLanes>;
  V found[kStreams] = {};
  for (int64_t t = 0; t < turns; ++t) {
    for (int64_t i = 0; i < count; i += kReadBlock) {
#pragma GCC unroll 8
      for (int s = 0; s < kStreams; ++s) {
        found[s] = found[s] ^ load<V>(data + i + int64_t{s} * kReadLanes);
      }
    }
    // Two turns would cancel out for a compiler that saw that they read the same.
    asm volatile("" : : "r"(data) : "memory");
  }
  V all = found[0];
  for (int s = 1; s < kStreams; ++s) all = all ^ found[s];
  *sink = all[0];
  return turns * count * int64_t{sizeof(int32_t)};
}

EVONET_NAMESPACE_END
