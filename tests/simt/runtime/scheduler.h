// scheduler.h: runs the threads of a block, one block at a time, on one OS thread.
//
// A fiber runs threads back to back until one must wait; that one keeps the fiber, and another
// fiber goes on with the next thread. So a kernel without barriers needs one fiber and never
// switches. When no thread can run, everybody who lives waits: at the block's barrier, which then
// opens, or for a lane that will not come, which is a deadlock.
#pragma once

#include <setjmp.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "fiber.h"
#include "launch.h"
#include "self.h"
#include "warp.h"

namespace simt {

enum class Barrier : uint8_t { kSync, kCount, kAnd, kOr };

constexpr unsigned kMaxThreads = 1024;

struct Crash {
  int signal;
  void* address;
  uint64_t site;
};

class Scheduler {
 public:
  Scheduler();
  ~Scheduler();

  void run_blocks(Launch& launch);

  // What kernels call.
  int wait_at_barrier(Barrier barrier, bool predicate, const void* site);
  uint64_t meet(WarpOp op, unsigned mask, uint64_t value, int operand, int width, const void* site);
  void yield();

  const Fiber& running() const { return *running_; }
  const char* shared_begin() const { return shared_; }  // of the dynamic shared memory
  bool in_shared_guard(uintptr_t address) const;

  sigjmp_buf escape;  // where abandon() goes
  Crash crash = {};

 private:
  enum class Wait : uint8_t { kNothing, kBarrier, kLanes };

  struct Thread {
    Fiber* fiber;
    const void* site;  // of what it waits for
    Wait wait;
    Barrier barrier;
  };

  // Lanes that wait for each other; they all name the same mask.
  struct Meeting {
    unsigned mask, arrived;
    WarpOp op;
  };
  struct Warp {
    unsigned lanes;  // that exist: the last warp of a block may have fewer than 32
    int num_meetings;
    Meeting meetings[32];
    uint64_t values[32];
    int operands[32], widths[32];
    uint64_t results[32];
  };

  static void run_fiber();
  void run_block(uint64_t linear);
  void record_crash();
  void start_block(uint64_t linear);

  Fiber* take_fiber();
  Fiber* next_fiber();
  void switch_to(Fiber* fiber);
  void park(Wait wait, const void* site);
  void make_ready(unsigned thread);

  void open_barrier();
  void check_barrier() const;
  void complete(Warp& warp, unsigned first_thread, int meeting, const void* site);
  uint64_t result_of(const Warp& warp, const Meeting& meeting, unsigned lane, const void* site);
  [[noreturn]] void report_deadlock();

  Launch* launch_ = nullptr;
  Self self_ = {};
  Random random_{0};
  std::vector<ThreadId> order_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  unsigned exited_lanes_[kMaxThreads / 32];

  // Threads that were released, first come first served. The count is in self_.
  ThreadId ready_[kMaxThreads];
  unsigned first_ready_ = 0;
  std::vector<ThreadId> yielded_;  // run when no other can

  unsigned num_waiting_ = 0;     // at the barrier
  unsigned num_predicates_ = 0;  // of them with a true predicate
  unsigned released_ = 0, released_predicates_ = 0;

  Fiber main_;
  Fiber* running_ = &main_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_fibers_;

  char* shared_;  // the largest dynamic shared memory there is, with a guard on both sides
};

// Of the OS thread; null outside of a launch.
extern __attribute__((tls_model("initial-exec"))) __thread Scheduler* active_scheduler;

}  // namespace simt
