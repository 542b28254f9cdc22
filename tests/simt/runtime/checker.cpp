// checker.cpp: every memory access of a kernel comes through check(). Checked mode runs on one OS
// thread, so its state is one object.
#include "checker.h"

#include <map>
#include <memory>

#include "checker_access.h"
#include "faults.h"
#include "scheduler.h"

namespace simt::checker {

namespace {

struct State {
  Ordering ordering;
  std::map<uintptr_t, Region> regions;  // by address
  Region* last = nullptr;               // accesses of one array come in runs
};
std::unique_ptr<State> state;

Region* find_region(uintptr_t address) {
  if (state->last && state->last->contains(address)) return state->last;
  auto after = state->regions.upper_bound(address);
  if (after == state->regions.begin()) return nullptr;
  Region& region = std::prev(after)->second;
  return region.contains(address) ? state->last = &region : nullptr;
}

bool is_in(uintptr_t address, uint64_t begin, uint64_t size) { return address - begin < size; }

bool is_in_thread_locals(uintptr_t address) {
  const Image& image = current_launch->image;
  return is_in(address, uint64_t(image.thread_locals()), image.thread_locals_size());
}

// The region that was probably meant: the nearest.
const Region* nearest_region(uintptr_t address) {
  const Region* nearest = nullptr;
  uintptr_t least = UINTPTR_MAX;
  for (const auto& [begin, region] : state->regions) {
    uintptr_t distance = address < begin ? begin - address : address - (begin + region.size);
    if (distance < least) {
      least = distance;
      nearest = &region;
    }
  }
  return nearest;
}

void report_out_of_bounds(uintptr_t address, size_t bytes, Access access, uint64_t site) {
  const Request& request = current_launch->request;
  bool in_arena = is_in(address, request.arena, request.arena_size);
  bool in_shared = active_scheduler->in_shared_guard(address) || is_in_thread_locals(address);
  const char* kind = in_shared ? "shared-out-of-bounds" : "out-of-bounds";
  const char* what = access == Access::kRead ? "reads" : "writes";
  const Region* region = nearest_region(address);
  if (region && (in_arena || in_shared)) {
    report(kind, site, 0, "%s %zu bytes at %s; %s has %zu bytes, %zu elements", what, bytes,
           region->place(address).c_str(), region->name.c_str(), region->size,
           region->element ? region->size / region->element : 1);
    return;
  }
  report(kind, site, 0, "%s %zu bytes at address %p, far from every array", what, bytes,
         reinterpret_cast<void*>(address));
  abandon();
}

}  // namespace

void begin_launch(const char* dynamic_shared) {
  const Request& request = current_launch->request;
  const Image& image = current_launch->image;
  state = std::make_unique<State>();
  auto add = [](const char* name, uint64_t begin, uint64_t size, uint32_t element, uint32_t flags) {
    state->regions.try_emplace(begin, name, begin, size, element, flags);
  };
  for (uint64_t i = 0; i < request.num_regions; ++i) {
    const RegionRequest& region = request.regions[i];
    uint64_t begin = region.begin;
    if (region.flags & RegionRequest::kThreadLocal) begin += uint64_t(image.thread_locals());
    if (region.flags & RegionRequest::kInImage) begin += image.base();
    add(region.name, begin, region.size, region.element, region.flags);
  }
  add("dynamic shared memory", uint64_t(dynamic_shared), request.dynamic_shared, 4,
      RegionRequest::kWritable | RegionRequest::kShared);
}

void end_launch() { state.reset(); }

void begin_block(uint64_t linear) { state->ordering.begin_block(linear); }
void barrier() { state->ordering.barrier(); }
void lanes_met(unsigned warp, unsigned mask) { state->ordering.lanes_met(warp, mask); }
void fence(bool whole_device) { state->ordering.fence(whole_device); }

void check(uintptr_t address, size_t bytes, size_t alignment, Access access, const void* caller) {
  Scheduler* scheduler = active_scheduler;
  if (!scheduler || bytes == 0 || scheduler->running().owns(address) ||
      is_in(address, uint64_t(simt_self), sizeof *simt_self) || address == uint64_t(&simt_self)) {
    return;  // not a kernel, or a thread's own variables
  }
  uint64_t site = site_of(caller);
  Region* region = find_region(address);
  if (!region) {
    // Constants of the module need no entry among the regions.
    if (access == Access::kRead && current_launch->image.contains(address)) return;
    report_out_of_bounds(address, bytes, access, site);
    return;
  }
  size_t rest = region->begin + region->size - address;
  if (bytes > rest) {
    report_out_of_bounds(address + rest, bytes - rest, access, site);
    bytes = rest;
  }
  if (alignment > 1 && address % alignment != 0) {
    report("misaligned", site, 0, "%s %zu bytes at %s, whose address is no multiple of %zu",
           access == Access::kRead ? "reads" : "writes", bytes, region->place(address).c_str(),
           alignment);
  }
  if (access != Access::kRead && !region->is_writable()) {
    report("write-to-const", site, 0, "writes to %s, which the kernel declares const",
           region->place(address).c_str());
  }
  if (access == Access::kAtomic || access == Access::kExchange) state->ordering.atomic(address);
  region->access(address, bytes, access, site, state->ordering);
}

}  // namespace simt::checker
