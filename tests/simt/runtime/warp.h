// warp.h: shuffles, votes and __syncwarp. Lanes that name the same mask meet in the runtime
// library; the last to arrive computes the results of all.
#pragma once

#include "keywords.h"

namespace simt {

enum WarpOp : int {
  kSyncWarp,
  kShuffle,
  kShuffleUp,
  kShuffleDown,
  kShuffleXor,
  kBallot,
  kAny,
  kAll,
  kMatchAny
};

}  // namespace simt

extern "C" unsigned long long simt_meet(simt::WarpOp op, unsigned mask, unsigned long long value,
                                        int operand, int width);

namespace simt {

template <class T>
__forceinline__ T shuffle(WarpOp op, unsigned mask, T value, int operand, int width) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = simt_meet(op, mask, bits, operand, width);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace simt

#define SIMT_SHUFFLES(T)                                                                       \
  __forceinline__ T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {            \
    return simt::shuffle(simt::kShuffle, mask, value, lane, width);                            \
  }                                                                                            \
  __forceinline__ T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {   \
    return simt::shuffle(simt::kShuffleUp, mask, value, int(delta), width);                    \
  }                                                                                            \
  __forceinline__ T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) { \
    return simt::shuffle(simt::kShuffleDown, mask, value, int(delta), width);                  \
  }                                                                                            \
  __forceinline__ T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {       \
    return simt::shuffle(simt::kShuffleXor, mask, value, lanes, width);                        \
  }
SIMT_SHUFFLES(int)
SIMT_SHUFFLES(unsigned)
SIMT_SHUFFLES(long)
SIMT_SHUFFLES(unsigned long)
SIMT_SHUFFLES(long long)
SIMT_SHUFFLES(unsigned long long)
SIMT_SHUFFLES(float)
SIMT_SHUFFLES(double)
#undef SIMT_SHUFFLES

__forceinline__ void __syncwarp(unsigned mask = 0xffffffff) {
  simt_meet(simt::kSyncWarp, mask, 0, 0, 32);
}
__forceinline__ unsigned __ballot_sync(unsigned mask, int predicate) {
  return unsigned(simt_meet(simt::kBallot, mask, predicate != 0, 0, 32));
}
__forceinline__ int __any_sync(unsigned mask, int predicate) {
  return int(simt_meet(simt::kAny, mask, predicate != 0, 0, 32));
}
__forceinline__ int __all_sync(unsigned mask, int predicate) {
  return int(simt_meet(simt::kAll, mask, predicate != 0, 0, 32));
}
#define SIMT_MATCH(T)                                                                    \
  __forceinline__ unsigned __match_any_sync(unsigned mask, T value) {                    \
    return unsigned(simt_meet(simt::kMatchAny, mask, (unsigned long long)value, 0, 32)); \
  }
SIMT_MATCH(int)
SIMT_MATCH(unsigned)
SIMT_MATCH(long long)
SIMT_MATCH(unsigned long long)
#undef SIMT_MATCH

// CUDA promises no more than that the caller is active. The least it may answer is the caller
// alone, and a kernel that needs more than the promise should fail here rather than on a GPU.
__forceinline__ unsigned __activemask() { return 1u << (simt_self->thread % 32); }
