#include "shadow.h"

#include <cstdio>
#include <cstdlib>

#include "faults.h"

namespace simt {

namespace {

Cell* allocate_cells(size_t count) {
  // calloc maps untouched pages lazily: cells of what is never accessed cost nothing.
  void* cells = calloc(count + 1, sizeof(Cell));
  if (!cells) abort();
  return static_cast<Cell*>(cells);
}

const char* verb(Access access, bool past) {
  switch (access) {
    case Access::kRead:
      return past ? "read" : "reads";
    case Access::kWrite:
      return past ? "wrote" : "writes";
    case Access::kExchange:
      return past ? "atomically set" : "atomically sets";
    default:
      return past ? "atomically updated" : "atomically updates";
  }
}

}  // namespace

Region::Region(std::string name, uintptr_t begin, size_t size, uint32_t element, uint32_t flags)
    : name(std::move(name)), begin(begin), size(size), element(element), flags(flags) {
  shift_ = element % 4 == 0 ? 2 : element % 2 == 0 ? 1 : 0;
  if ((begin | size) & ((1u << shift_) - 1)) shift_ = 0;
  cells_ = allocate_cells((size >> shift_) + 1);
}

Region::~Region() { free(cells_); }

void Region::split() {
  Cell* bytes = allocate_cells(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = cells_[i >> shift_];
  free(cells_);
  cells_ = bytes;
  shift_ = 0;
}

std::string Region::place(uintptr_t address) const {
  long long offset = (long long)(address - begin);
  char text[64];
  if (element != 0 && offset % (long long)element == 0) {
    if (element == size && offset == 0) return name;
    snprintf(text, sizeof text, "[%lld]", offset / (long long)element);
  } else if (offset == 0) {
    return name;
  } else {
    snprintf(text, sizeof text, " + %lld bytes", offset);
  }
  return name + text;
}

void Region::access(uintptr_t address, size_t bytes, Access access, uint64_t site,
                    const Ordering& ordering) {
  size_t granule = size_t(1) << shift_;
  size_t offset = address - begin;
  if ((offset | bytes) & (granule - 1)) {
    split();
    granule = 1;
  }
  for (size_t i = offset; i < offset + bytes; i += granule) {
    access_cell(cells_[i >> shift_], begin + i, access, site, ordering);
  }
}

void Region::access_cell(Cell& cell, uintptr_t address, Access access, uint64_t site,
                         const Ordering& ordering) {
  // What other blocks did to this address in shared memory, they did to their own.
  auto matters = [&](const Stamp& stamp) {
    return stamp.block != 0 && (!is_shared() || stamp.block == ordering.block());
  };
  auto check = [&](const Stamp& stamp, Access earlier) {
    if (!matters(stamp) || ordering.precedes(stamp)) return;
    bool same_block = stamp.block == ordering.block();
    const char* kind = is_shared() ? "shared-race" : same_block ? "global-race" : "block-race";
    if (current_launch->findings.known(kind, site, stamp.site)) return;
    uint3 thread = current_launch->indices[stamp.thread];
    uint3 block = current_launch->block_index(stamp.block - 1);
    report(kind, site, stamp.site, "%s %s, which thread (%u, %u, %u) of block (%u, %u, %u) %s",
           verb(access, false), place(address).c_str(), thread.x, thread.y, thread.z, block.x,
           block.y, block.z, verb(earlier, true));
  };
  auto remember = [&](Stamp* pair) {
    for (int i = 0; i < 2; ++i) {
      if (matters(pair[i]) && !ordering.precedes(pair[i])) continue;
      pair[i] = ordering.now(site);
      Stamp& other = pair[1 - i];
      if (i == 0 && (!matters(other) || ordering.precedes(other))) other = {};
      return;
    }
  };

  bool uses_value = access == Access::kRead || access == Access::kAtomic;
  if (uses_value && is_shared() && !matters(cell.write) && !matters(cell.atomics[0]) &&
      !current_launch->findings.known("uninitialised-shared", site, 0)) {
    report("uninitialised-shared", site, 0, "%s %s, which nobody in the block has written",
           verb(access, false), place(address).c_str());
  }

  if (access == Access::kRead) {
    check(cell.write, Access::kWrite);
    for (const Stamp& stamp : cell.atomics) check(stamp, Access::kAtomic);
    remember(cell.reads);
    return;
  }

  check(cell.write, Access::kWrite);
  for (const Stamp& stamp : cell.reads) check(stamp, Access::kRead);
  if (access != Access::kWrite) {
    remember(cell.atomics);
    return;
  }
  for (const Stamp& stamp : cell.atomics) check(stamp, Access::kAtomic);
  cell = {ordering.now(site), {}, {}};
}

}  // namespace simt
