// thread_pool.h: one persistent pool for the process; the calling thread works too.
// It survives fork (a child starts its own workers on first use), can be asked to stop from
// within a task, and never blocks a second caller: a busy pool makes that caller work alone.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace evonet {

// Asks long-running work to stop. Only the calling thread polls (for Ctrl-C), at most
// once per period, also while it waits for the workers; they see the flag that it raises.
class Interrupt {
 public:
  using Poll = std::function<bool()>;
  static constexpr std::chrono::milliseconds kPeriod{20};

  Interrupt(std::atomic<bool>& stop, const Poll* poll) : stop_(stop), poll_(poll) {}

  bool requested();

 private:
  std::atomic<bool>& stop_;
  const Poll* poll_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kPeriod;
};

// One unit of a parallel job, by its index; `worker` (0 is the caller) is whose scratch to use.
using Task = std::function<void(int worker, int64_t index, Interrupt& interrupt)>;

// The number of CPUs this process may run on.
int available_threads();

// As many threads as somebody asked for, 0 for all available; never more than are of any use.
int usable_threads(int wanted);

// Calls task for every index in [0, count) on up to `threads` threads, in any order. Rethrows the
// first exception of a task. Returns false if poll asked to stop before all were done.
bool parallel_for(int threads, int64_t count, const Task& task, const Interrupt::Poll& poll);

}  // namespace evonet
