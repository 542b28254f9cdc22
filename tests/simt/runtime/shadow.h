// shadow.h: the memory a kernel may touch, and who touched which part of it last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "launch.h"
#include "ordering.h"

namespace simt {

// kExchange is an atomic that does not depend on what it overwrites.
enum class Access : uint8_t { kRead, kWrite, kAtomic, kExchange };

// The last accesses of a granule. Two readers and two atomics are kept if neither precedes the
// other: with one, a thread's own would hide somebody else's.
struct Cell {
  Stamp write;
  Stamp atomics[2];
  Stamp reads[2];
};

// An array, a __shared__ variable, the dynamic shared memory or a __device__ variable.
class Region {
 public:
  Region(std::string name, uintptr_t begin, size_t size, uint32_t element, uint32_t flags);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  bool contains(uintptr_t address) const { return address - begin < size; }
  bool is_shared() const { return flags & RegionRequest::kShared; }
  bool is_writable() const { return flags & RegionRequest::kWritable; }

  // Looks for races and uninitialised reads, then remembers the access.
  void access(uintptr_t address, size_t bytes, Access access, uint64_t site,
              const Ordering& ordering);
  // "x[7]", or "x + 5 bytes"
  std::string place(uintptr_t address) const;

  const std::string name;
  const uintptr_t begin;
  const size_t size;
  const uint32_t element;
  const uint32_t flags;

 private:
  void access_cell(Cell& cell, uintptr_t address, Access access, uint64_t site,
                   const Ordering& ordering);
  void split();  // one cell per byte from now on

  unsigned shift_;  // a cell stands for 1 << shift_ bytes
  Cell* cells_;
};

}  // namespace simt
