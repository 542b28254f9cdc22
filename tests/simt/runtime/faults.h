// faults.h: how a fault is reported, and how a launch is abandoned after one that no thread can
// survive: a deadlock, a trap, a wild pointer, an endless loop.
#pragma once

#include <signal.h>
#include <time.h>

#include <cstdint>

namespace simt {

// An address in the module, relative to its base; 0 for any other.
uint64_t site_of(const void* return_address);

// Adds a finding about the running thread.
[[gnu::format(printf, 4, 5)]] void report(const char* kind, uint64_t site, uint64_t other_site,
                                          const char* format, ...);

// Leaves the block and stops the launch; report first.
[[noreturn]] void abandon();

// Turns a crash of a kernel into a finding, while it lives.
class FaultHandlers {
 public:
  FaultHandlers();
  ~FaultHandlers();
};

// What the handlers need of every OS thread: a stack to run on, since a crash may be the overflow
// of another, and a clock. Also makes the OS thread round and treat denormals as IEEE 754 says.
class GuardedThread {
 public:
  explicit GuardedThread(double timeout);
  ~GuardedThread();

 private:
  static constexpr size_t kStackBytes = 64 << 10;
  char* stack_;
  stack_t old_stack_;
  timer_t timer_;
  bool has_timer_;
  unsigned old_float_control_;
};

}  // namespace simt
