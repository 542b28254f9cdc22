// unit_reader.h: the units of one genome, read in order by all lanes of a warp together.
// A chunk lies in shared memory, where reading it is a broadcast; the chunk after it is on its way
// in registers, a unit per lane. Reading units from global memory where they are needed instead
// would wait for a cache line every eight units.
#pragma once

#include "cuda/schedule.h"

EVONET_NAMESPACE_BEGIN

constexpr int kChunkUnits = 32;  // one per lane
constexpr int kChunkBytes = kChunkUnits * kUnit;

// It keeps few registers, because the loop over links needs them: shared memory is addressed by
// bytes from its start, and chunks start at multiples of their size, so the place in memory gives
// the place in the chunk. It is a multiple of the size only when the chunk is used up: the next
// chunk is stored when a unit of it is needed, not before.
template <class T>
class UnitReader {
 public:
  // Units [begin, end) of units, where end is read when it is needed; the chunk goes to
  // shared + chunk.
  __device__ __forceinline__ UnitReader(const uint4* units, unsigned begin, const unsigned* end,
                                        char* shared, int32 chunk)
      : units_(units), next_(begin + lane()), end_(end), shared_(shared), at_(chunk + kChunkBytes) {
    fetch();
  }

  __device__ __forceinline__ NodeHeader<T> header() {
    HeaderUnits<T> found;
    EVONET_UNROLL
    for (int i = 0; i < kHeaderUnits<T>; ++i) {
      need_unit();
      found.unit[i] = unit();
      at_ += kUnit;
    }
    return found.header();
  }

  // Each of these passes over the links of the node whose header was read; see node.h.
  template <class Visit>
  __device__ __forceinline__ void each(int32 count, Visit visit) {
    while (count > 0) {
      need_unit();
      const int32 here = (kChunkBytes - at_ % kChunkBytes) / int(sizeof(Link<T>));
      const int32 now = count < here ? count : here;
      count -= now;
      const int32 whole = now / kLinksPerUnit<T>;
      if (whole % 2 != 0) {
        visit_unit(unit(), visit);
        at_ += kUnit;
      }
      EVONET_KEEP_LOOP
      for (const int32 end = at_ + whole / 2 * (2 * kUnit); at_ != end; at_ += 2 * kUnit) {
        const uint4 first = unit(0), second = unit(1);
        visit_unit(first, visit);
        visit_unit(second, visit);
      }
      if (now % kLinksPerUnit<T> != 0) {
        const Link<T> last = links_of<T>(unit()).link[0];
        visit(last.back, last.weight);
        at_ += kUnit;
      }
    }
  }

  template <class Visit>
  __device__ __forceinline__ void one_by_one(int32 count, Visit visit) {
    EVONET_KEEP_LOOP
    for (int32 i = 0; i < count; i += kLinksPerUnit<T>) {
      need_unit();
      const LinkUnit<T> links = links_of<T>(unit());
      EVONET_UNROLL
      for (int k = 0; k < kLinksPerUnit<T>; ++k) {
        if (i + k < count) visit(links.link[k].back, links.link[k].weight);
      }
      at_ += kUnit;
    }
  }

  __device__ __forceinline__ GlobalLinks<T> anywhere(int32 count) {
    const int32 used = (at_ - 1) % kChunkBytes + 1;  // bytes of this chunk, up to all of it
    const GlobalLinks<T> links{units_ + (next_ - lane() - 2 * kChunkUnits) + used / kUnit};
    int32 skip = (count + kLinksPerUnit<T> - 1) / kLinksPerUnit<T> * kUnit - (kChunkBytes - used);
    EVONET_KEEP_LOOP
    for (at_ += kChunkBytes - used; skip > 0; skip -= kChunkBytes) {
      advance();
      at_ += kChunkBytes;
    }
    at_ += skip;
    return links;
  }

 private:
  static __device__ __forceinline__ unsigned lane() { return threadIdx.x % 32; }

  __device__ __forceinline__ uint4 unit(int ahead = 0) const {
    return *reinterpret_cast<const uint4*>(shared_ + at_ + ahead * kUnit);
  }

  template <class Visit>
  static __device__ __forceinline__ void visit_unit(uint4 unit, Visit& visit) {
    const LinkUnit<T> links = links_of<T>(unit);
    EVONET_UNROLL
    for (int i = 0; i < kLinksPerUnit<T>; ++i) visit(links.link[i].back, links.link[i].weight);
  }

  __device__ __forceinline__ void need_unit() {
    if (at_ % kChunkBytes == 0) advance();
  }

  __device__ __forceinline__ void advance() {
    at_ -= kChunkBytes;
    __syncwarp();
    *reinterpret_cast<uint4*>(shared_ + at_ + lane() * kUnit) = ahead_;
    __syncwarp();
    fetch();
  }

  __device__ __forceinline__ void fetch() {
    if (next_ < *end_) ahead_ = __ldg(units_ + next_);
    next_ += kChunkUnits;
  }

  const uint4* units_;
  unsigned next_;        // the unit that this lane fetches next
  const unsigned* end_;  // behind the genome's last
  char* shared_;
  int32 at_;  // where the next unit is, in bytes
  uint4 ahead_ = {};
};

EVONET_NAMESPACE_END
