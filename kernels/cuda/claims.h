// claims.h: finds the first child of each mutation, whatever the order of threads: a table by open
// addressing in which a slot belongs to a mutation, and the smallest child that came to it.
#pragma once

#include "cuda/brood.h"
#include "genetics/numbering.h"
#include "numerics/key_table.h"

EVONET_NAMESPACE_BEGIN

// Which child was first is `first`; who came to a slot first, and to which slot, depends on timing.
struct Claims {
  int bits;
  int32* slots;         // [2^bits] any of a mutation's children, or -1
  unsigned int* first;  // [2^bits] the smallest of them, or 0xffffffff
  int32* place;         // [count] the slot of each child that has such a mutation

  template <class IsIt>
  __device__ __forceinline__ void claim(int32 child, unsigned long long hash, IsIt is_it) const {
    const int64 mask = (int64(1) << bits) - 1;
    int64 slot = int64(hash >> (64 - bits));
    for (;; slot = (slot + 1) & mask) {
      const int32 holder = atomicCAS(&slots[slot], -1, child);
      if (holder < 0 || is_it(holder)) break;
    }
    atomicMin(&first[slot], (unsigned int)child);
    place[child] = int32(slot);
  }

  EVONET_METHOD int64 first_of(int64 child) const { return first[place[child]]; }
};

// The numbers of splits; `before` counts the new splits of the children before each.
struct SplitNumbers {
  Claims claims;
  const int64* before;  // [count + 1]
  int64 next_node_key;

  // All but the innovations, which depend on the connections that were added.
  EVONET_METHOD GivenNumbers node_of(const Request& request, int64 child) const {
    if (request.split < 0) return {};
    return split_numbers(next_node_key + before[claims.first_of(child)], 0);
  }
};

EVONET_NAMESPACE_END
