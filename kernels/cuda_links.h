// cuda_links.h: the links of a genome as a stream that all lanes of a warp read together.
// A chunk of 32 units lies in shared memory, where reading it is a broadcast; the chunk after it is
// on its way in registers, one unit per lane. Reading from global memory where a link is needed
// instead would wait for a cache line every 16 links.
#pragma once

#include "cuda_schedule.h"

EVONET_NAMESPACE_BEGIN

constexpr int kChunk = 32;  // units

template <class T>
class LinkStream {
 public:
  __device__ __forceinline__ LinkStream(const uint4* links, int32 num_units, uint4* chunk, int lane)
      : links_(links), num_units_(num_units), chunk_(chunk), lane_(lane) {
    ahead_ = fetch(0);
    advance();
  }

  // The nodes of a genome must come in order, each followed by one pass over its links at most.
  __device__ __forceinline__ void start_node(int32 first_unit) {
    first_ = links_ + first_unit;
    unit_ = first_unit;
  }

  __device__ __forceinline__ int32 slot(int32 i) const { return GlobalLinks<T>{first_}.slot(i); }
  __device__ __forceinline__ T weight(int32 i) const { return GlobalLinks<T>{first_}.weight(i); }

  template <class Visit>
  __device__ __forceinline__ void each(int32 count, Visit visit) {
    while (count > 0) {
      const uint4* unit = here();
      const int32 links_here = (chunk_end_ - unit_) * kLinksPerUnit<T>;
      const int32 now = count < links_here ? count : links_here;
#pragma unroll 2
      for (int32 whole = now / kLinksPerUnit<T>; whole > 0; --whole) visit_unit(*unit++, visit);
      if (now % kLinksPerUnit<T> != 0) {
        const Link<T> last = as_links<T>(*unit).link[0];
        visit(last.slot, last.weight);
      }
      unit_ += (now + kLinksPerUnit<T> - 1) / kLinksPerUnit<T>;
      count -= now;
    }
  }

  template <class Visit>
  __device__ __forceinline__ void one_by_one(int32 count, Visit visit) {
#pragma unroll 1
    for (int32 i = 0; i < count; ++i) {
      const Link<T> next = as_links<T>(*here()).link[i % kLinksPerUnit<T>];
      visit(next.slot, next.weight);
      unit_ += (i + 1) % kLinksPerUnit<T> == 0;
    }
  }

 private:
  template <class Visit>
  static __device__ __forceinline__ void visit_unit(uint4 unit, Visit& visit) {
    const LinkUnit<T> links = as_links<T>(unit);
#pragma unroll
    for (int i = 0; i < kLinksPerUnit<T>; ++i) visit(links.link[i].slot, links.link[i].weight);
  }

  __device__ __forceinline__ uint4 fetch(int32 begin) const {
    return begin + lane_ < num_units_ ? __ldg(links_ + begin + lane_) : uint4{};
  }

  // The current unit, in a chunk that is there.
  __device__ __forceinline__ const uint4* here() {
    while (unit_ >= chunk_end_) advance();
    return chunk_ + (unit_ - chunk_end_ + kChunk);
  }

  __device__ __forceinline__ void advance() {
    __syncwarp();
    chunk_[lane_] = ahead_;
    __syncwarp();
    chunk_end_ += kChunk;
    ahead_ = fetch(chunk_end_);
  }

  const uint4* links_;
  const uint4* first_ = nullptr;  // unit of the node
  int32 num_units_, unit_ = 0, chunk_end_ = 0;
  uint4* chunk_;
  int lane_;
  uint4 ahead_;
};

EVONET_NAMESPACE_END
