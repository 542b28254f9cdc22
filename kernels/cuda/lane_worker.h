// lane_worker.h: lanes of a warp that compile a genome together; schedule/link_groups.h lists what
// a worker has. A team has 1, 2, 4, ... or 32 lanes.
#pragma once

#include "schedule/node_order.h"

EVONET_NAMESPACE_BEGIN

template <int kTeam>
struct LaneWorker {
  static constexpr int32 kLanes = kTeam;

  unsigned mask;             // the lanes of the team
  int32 lane;                // among them
  unsigned long long* work;  // [N] memory for sorting

  __device__ __forceinline__ static LaneWorker here(unsigned long long* work) {
    const unsigned lane = threadIdx.x % 32;
    return {(0xffffffffu >> (32 - kTeam)) << (lane / kTeam * kTeam), int32(lane % kTeam), work};
  }

  template <class Body>
  __device__ __forceinline__ bool each(int32 count, Body body) const {
    body(lane, count);
    return true;
  }
  __device__ __forceinline__ int32 padded(int32 count) const {
    return (count + kTeam - 1) / kTeam * kTeam;
  }
  __device__ __forceinline__ void sync() const {
    if constexpr (kTeam > 1) __syncwarp(mask);
  }
  __device__ __forceinline__ bool is_first() const { return lane == 0; }
  __device__ __forceinline__ int32 share(int32 x) const {
    if constexpr (kTeam > 1) return __shfl_sync(mask, x, 0, kTeam);
    return x;
  }
  __device__ __forceinline__ bool share(bool x) const { return share(int32(x)) != 0; }
  __device__ __forceinline__ bool all(bool x) const {
    if constexpr (kTeam > 1) return __all_sync(mask, x) != 0;
    return x;
  }
  __device__ __forceinline__ void add(int32& to, int32 x) const {
    if constexpr (kTeam > 1) {
      atomicAdd(&to, x);
    } else {
      to += x;
    }
  }
  __device__ __forceinline__ void raise(int32& to, int32 x) const {
    if constexpr (kTeam > 1) {
      atomicMax(&to, x);
    } else {
      to = to > x ? to : x;
    }
  }
  __device__ __forceinline__ int32 take(int32* cursor, int32 i, bool wanted) const {
    const int32 place = cursor[i];
    if constexpr (kTeam > 1) {
      const unsigned others = __match_any_sync(mask, wanted ? i : -1);
      const unsigned before = others & ((1u << threadIdx.x % 32) - 1);
      sync();
      if (wanted && before == 0) cursor[i] = place + __popc(others);
      sync();
      return place + __popc(before);
    } else {
      cursor[i] = place + wanted;
      return place;
    }
  }
  __device__ __forceinline__ void running_sum(int32* x, int32 count) const {
    int32 sum = 0;
    EVONET_KEEP_LOOP
    for (int32 i = lane; i < padded(count); i += kTeam) {
      int32 own = i < count ? x[i] : 0;
      EVONET_UNROLL
      for (int reach = 1; reach < kTeam; reach *= 2) {
        const int32 other = __shfl_up_sync(mask, own, reach, kTeam);
        own += lane >= reach ? other : 0;
      }
      own += sum;
      if (i < count) x[i] = own;
      sum = own;
      if constexpr (kTeam > 1) sum = __shfl_sync(mask, own, kTeam - 1, kTeam);
    }
    sync();
  }
  __device__ __forceinline__ bool tires_after(int32) const { return false; }

  // Every node counts who comes before it in its level, and goes there.
  __device__ __forceinline__ bool sort_levels(int32* order, int32* spare, const int32* level,
                                              const int32* level_end, int32 num_levels,
                                              int32 num_nodes, const NodeRoles& roles) const {
    EVONET_KEEP_LOOP
    for (int32 k = lane; k < num_nodes; k += kTeam) work[k] = roles.work(order[k]);
    sync();
    EVONET_KEEP_LOOP
    for (int32 k = lane; k < num_nodes; k += kTeam) {
      const int32 node = order[k], l = level[node], begin = l == 0 ? 0 : level_end[l - 1];
      const unsigned long long mine = work[k];
      int32 place = begin;
      EVONET_KEEP_LOOP
      for (int32 i = begin; i < level_end[l]; ++i) {
        place += work[i] < mine || (work[i] == mine && order[i] < node);
      }
      spare[place] = node;
    }
    sync();
    EVONET_KEEP_LOOP
    for (int32 k = lane; k < num_nodes; k += kTeam) order[k] = spare[k];
    sync();
    return true;
  }
};

EVONET_NAMESPACE_END
