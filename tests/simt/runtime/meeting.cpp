// meeting.cpp: warp collectives. Lanes meet per mask, so that the two sides of a branch may hold
// their own at the same time; the last lane to arrive computes every lane's result, because the
// first to leave may come to the next meeting before the others have left this one.
#include <cstring>

#include "checker.h"
#include "faults.h"
#include "scheduler.h"

namespace simt {

namespace {

constexpr const char* kNames[] = {"__syncwarp",       "__shfl_sync",     "__shfl_up_sync",
                                  "__shfl_down_sync", "__shfl_xor_sync", "__ballot_sync",
                                  "__any_sync",       "__all_sync",      "__match_any_sync"};

// The lane that a shuffle reads from, as PTX defines it; the lane itself if there is none.
unsigned source_lane(WarpOp op, unsigned lane, int operand, int width) {
  unsigned segment = lane & ~unsigned(width - 1);
  unsigned last = segment + unsigned(width) - 1;
  switch (op) {
    case kShuffleUp: {
      long long from = (long long)lane - unsigned(operand);
      return from < (long long)segment ? lane : unsigned(from);
    }
    case kShuffleDown: {
      long long from = (long long)lane + unsigned(operand);
      return from > (long long)last ? lane : unsigned(from);
    }
    case kShuffleXor: {
      unsigned from = lane ^ unsigned(operand);
      return from > last ? lane : from;
    }
    default:
      return segment + (unsigned(operand) & unsigned(width - 1));
  }
}

// The lanes of a mask that have the value of one of them.
unsigned equal_lanes(const uint64_t* values, unsigned mask, unsigned lane) {
  unsigned equal = 0;
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    unsigned other = unsigned(__builtin_ctz(rest));
    if (values[other] == values[lane]) equal |= 1u << other;
  }
  return equal;
}

}  // namespace

uint64_t Scheduler::meet(WarpOp op, unsigned named, uint64_t value, int operand, int width,
                         const void* site) {
  unsigned warp_index = simt_self->thread / 32, lane = simt_self->thread % 32;
  Warp& warp = warps_[warp_index];
  unsigned mask = named & warp.lanes;  // lanes beyond the end of the block do not count
  if (!(mask >> lane & 1)) {
    report("warp-mask", site_of(site), 0, "calls %s with mask 0x%08x, which lacks its lane %u",
           kNames[op], named, lane);
    abandon();
  }
  if (unsigned gone = mask & simt_self->exited_lanes[warp_index]) {
    report("warp-mask", site_of(site), 0, "calls %s with mask 0x%08x, of which lanes 0x%08x exited",
           kNames[op], named, gone);
    abandon();
  }
  if (width < 1 || width > 32 || (width & (width - 1)) != 0) {
    report("warp-mask", site_of(site), 0, "calls %s with width %d, not a power of 2 up to 32",
           kNames[op], width);
    abandon();
  }

  int found = 0;
  while (found < warp.num_meetings && warp.meetings[found].mask != mask) ++found;
  Meeting& meeting = warp.meetings[found];
  if (found == warp.num_meetings) {
    ++warp.num_meetings;
    meeting = {mask, 0, op};
  } else if (meeting.op != op) {
    report("warp-mask", site_of(site), 0, "calls %s where lanes 0x%08x of the same mask call %s",
           kNames[op], meeting.arrived, kNames[meeting.op]);
    abandon();
  }
  meeting.arrived |= 1u << lane;
  warp.values[lane] = value;
  warp.operands[lane] = operand;
  warp.widths[lane] = width;
  if (meeting.arrived != mask) {
    park(Wait::kLanes, site);
  } else {
    complete(warp, warp_index * 32, found, site);
  }
  return warp.results[lane];
}

void Scheduler::complete(Warp& warp, unsigned first_thread, int found, const void* site) {
  Meeting meeting = warp.meetings[found];
  warp.meetings[found] = warp.meetings[--warp.num_meetings];
  uint64_t common = 0;
  if (meeting.op == kBallot || meeting.op == kAny || meeting.op == kAll) {
    for (unsigned rest = meeting.mask; rest != 0; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      common |= warp.values[lane] << lane;
    }
    if (meeting.op == kAny) common = common != 0;
    if (meeting.op == kAll) common = common == meeting.mask;
  } else if (meeting.op == kSyncWarp) {
    checker::lanes_met(first_thread / 32, meeting.mask);
  }
  bool shuffles = meeting.op >= kShuffle && meeting.op <= kShuffleXor;
  unsigned self = simt_self->thread;
  bool reverse = launch_->request.order == kReverse;
  for (unsigned i = 0; i < 32; ++i) {
    unsigned lane = reverse ? 31 - i : i;
    if (!(meeting.mask >> lane & 1)) continue;
    warp.results[lane] = shuffles                  ? result_of(warp, meeting, lane, site)
                         : meeting.op == kMatchAny ? equal_lanes(warp.values, meeting.mask, lane)
                                                   : common;
    if (first_thread + lane != self) make_ready(first_thread + lane);
  }
}

uint64_t Scheduler::result_of(const Warp& warp, const Meeting& meeting, unsigned lane,
                              const void* site) {
  unsigned source = source_lane(meeting.op, lane, warp.operands[lane], warp.widths[lane]);
  if (meeting.mask >> source & 1) return warp.values[source];
  if (checker::kEnabled) {
    report("warp-mask", site_of(site), 0,
           "meets mask 0x%08x in %s, where lane %u reads lane %u, which is not among them",
           meeting.mask, kNames[meeting.op], lane, source);
  }
  return ~uint64_t(0);  // undefined on a GPU; here a NaN
}

}  // namespace simt

extern "C" unsigned long long simt_meet(simt::WarpOp op, unsigned mask, unsigned long long value,
                                        int operand, int width) {
  return simt::active_scheduler->meet(op, mask, value, operand, width, __builtin_return_address(0));
}
