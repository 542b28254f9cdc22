// conv_patch.h: the pixels below some windows of a convolution, packed: a mask with a bit per
// number and the numbers that are not 0, in their order. A block of threads packs them together.
#pragma once

#include "cuda/addresses.h"

EVONET_NAMESPACE_BEGIN

constexpr unsigned kWholeWarp = 0xffffffffu;

// Adds up a number of each thread of a warp.
EVONET_FN long long add_warp(long long x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(kWholeWarp, x, step);
  return x;
}

// Rows of pixels in a map, as one sequence of numbers; never more than a map has, 2^31.
template <class T>
struct Patch {
  const T* first;
  int row;      // numbers of a row of the patch
  int map_row;  // and of the map
  int numbers;  // in all

  EVONET_METHOD T at(int number) const {
    const int y = number / row;
    return first[wide_product(y, map_row) + (number - y * row)];
  }
};

template <class T>
struct NonZero {
  T value;
  int position;  // in its row of the patch
};

// Where a part of a patch is packed, in shared memory.
template <class T>
struct Packed {
  NonZero<T>* found;
  unsigned* mask;  // with a word of 0 behind the last
  int* before;     // non-zeros in front of each word

  // Non-zeros in front of a number, counted from the first of the part.
  EVONET_METHOD int rank(int number) const {
    return before[number / 32] + __popc(mask[number / 32] & ~(kWholeWarp << number % 32));
  }
};

// How many numbers of a patch are not 0; every thread of the block learns it.
template <int WARPS, class T>
EVONET_FN int count_nonzeros(const Patch<T>& patch) {
  __shared__ int counts[WARPS];
  int found = 0;
  for (int i = threadIdx.x; i < patch.numbers; i += 32 * WARPS) found += patch.at(i) != T(0);
  found = int(add_warp(found));
  if (threadIdx.x % 32 == 0) counts[threadIdx.x / 32] = found;
  __syncthreads();
  int total = 0;
  for (int i = 0; i < WARPS; ++i) total += counts[i];
  return total;
}

// Packs the numbers [begin, end) of a patch, after which every thread may read them.
template <int WARPS, class T>
EVONET_FN void pack(const Patch<T>& patch, int begin, int end, const Packed<T>& to) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int words = (end - begin + 31) / 32;
  __syncthreads();  // nobody reads the part before
  for (int i = warp; i < words; i += WARPS) {
    const int number = begin + i * 32 + lane;
    const unsigned bits = __ballot_sync(kWholeWarp, number < end && patch.at(number) != T(0));
    if (lane == 0) to.mask[i] = bits;
  }
  if (threadIdx.x == 0) to.mask[words] = 0;
  __syncthreads();
  if (warp == 0) {
    int total = 0;
    for (int first = 0; first <= words; first += 32) {
      const int i = first + lane, own = i < words ? __popc(to.mask[i]) : 0;
      int sum = own;
      EVONET_UNROLL
      for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(kWholeWarp, sum, step);
        if (lane >= step) sum += other;
      }
      if (i <= words) to.before[i] = total + sum - own;
      total += __shfl_sync(kWholeWarp, sum, 31);
    }
  }
  __syncthreads();
  for (int i = warp; i < words; i += WARPS) {
    const unsigned bits = to.mask[i];
    if (bits >> lane & 1) {
      const int number = begin + i * 32 + lane;
      to.found[to.before[i] + __popc(bits & ~(kWholeWarp << lane))] = {patch.at(number),
                                                                       number % patch.row};
    }
  }
  __syncthreads();
}

EVONET_NAMESPACE_END
