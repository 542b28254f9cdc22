// ordering.h: which accesses of a launch are ordered, by what CUDA promises and no more.
//
//   __syncthreads          orders all threads of the block
//   __syncwarp(mask)       orders the lanes of the mask; shuffles and votes order nothing
//   __threadfence, atomic  what precedes the fence is ordered before what follows another thread's
//                          later atomic on the same address: the "last block" pattern
//
// Barriers are counted (the epoch); within an epoch, lanes of a warp keep vector clocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "self.h"

namespace simt {

// When, by whom and in which line memory was accessed.
struct Stamp {
  uint32_t block;  // linear, from 1; 0 is never
  uint32_t epoch : 22;
  uint32_t thread : 10;
  uint32_t clock;
  uint32_t site;
};
static_assert(sizeof(Stamp) == 16);

class Ordering {
 public:
  void begin_block(uint64_t linear);
  void barrier();
  void lanes_met(unsigned warp, unsigned mask);
  void fence(bool whole_device);
  void atomic(uintptr_t address);

  Stamp now(uint64_t site) const {
    unsigned thread = simt_self->thread;
    return {block_, epoch_, thread, lanes_[thread].clock, uint32_t(site)};
  }
  // True if the access happened before whatever the running thread does now.
  bool precedes(const Stamp& stamp) const {
    if (stamp.block == block_) {
      unsigned thread = simt_self->thread;
      if (stamp.epoch < epoch_ || stamp.thread == thread) return true;
      if (stamp.thread / 32 == thread / 32 &&
          lanes_[thread].seen[stamp.thread % 32] > stamp.clock) {
        return true;
      }
    }
    return fences_used_ && was_acquired(stamp);
  }
  uint32_t block() const { return block_; }

 private:
  struct Lane {
    uint32_t clock;
    uint32_t seen[32];  // accesses of lane i with a smaller clock precede mine
  };
  // What a thread had done before a fence, and knew to have been done.
  struct Release {
    uint32_t block, epoch, warp;
    uint32_t seen[32];
    bool whole_device;
  };
  // All releases through one atomic variable, in order.
  struct Log {
    std::vector<Release> releases;
    std::unordered_map<uint32_t, std::vector<uint32_t>> of_block;  // places in releases
  };
  struct Acquired {
    const Log* log;
    size_t length;  // of the log, when it was read
  };

  static void acquire(std::vector<Acquired>& all, const Acquired& one);
  static bool covers(const Release& release, const Stamp& stamp);
  bool was_acquired(const Stamp& stamp) const;
  bool was_acquired(const std::vector<Acquired>& acquired, const Stamp& stamp) const;

  uint32_t block_ = 0;
  uint32_t epoch_ = 0;
  Lane lanes_[1024] = {};

  bool fences_used_ = false;
  std::unordered_map<unsigned, Release> fenced_;  // by thread: its last fence
  std::unordered_map<uintptr_t, Log> logs_;       // by address of the atomic variable
  std::unordered_map<unsigned, std::vector<Acquired>> by_thread_;  // since the last barrier
  std::vector<Acquired> by_block_;                                 // before it
};

}  // namespace simt
