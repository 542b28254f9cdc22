// scheduler.cpp: fibers, barriers, and who runs next.
#include "scheduler.h"

#include <cstring>

#include "checker.h"
#include "faults.h"

__thread simt::Self* simt_self = nullptr;

namespace simt {

__thread Scheduler* active_scheduler = nullptr;

namespace {

constexpr size_t kMaxShared = 227 << 10;
constexpr size_t kSharedGuard = 64 << 10;
constexpr int kPoison = 0xff;  // a NaN in every float type, -1 in every integer

}  // namespace

Scheduler::Scheduler() : threads_(kMaxThreads), warps_(kMaxThreads / 32) {
  void* memory = mmap(nullptr, kMaxShared + 2 * kSharedGuard, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) abort();
  shared_ = static_cast<char*>(memory) + kSharedGuard;
}

Scheduler::~Scheduler() { munmap(shared_ - kSharedGuard, kMaxShared + 2 * kSharedGuard); }

bool Scheduler::in_shared_guard(uintptr_t address) const {
  return address - reinterpret_cast<uintptr_t>(shared_ - kSharedGuard) <
         kMaxShared + 2 * kSharedGuard;
}

// ---- blocks ---------------------------------------------------------------------------------

void Scheduler::run_blocks(Launch& launch) {
  launch_ = &launch;
  const Request& request = launch.request;
  order_.resize(launch.num_threads);
  for (unsigned i = 0; i < launch.num_threads; ++i) {
    order_[i] = ThreadId(request.order == kReverse ? launch.num_threads - 1 - i : i);
  }
  simt_self = &self_;
  Self& self = self_;
  self.block_dim = {request.block[0], request.block[1], request.block[2]};
  self.grid_dim = {request.grid[0], request.grid[1], request.grid[2]};
  self.indices = launch.indices.data();
  self.dynamic_shared = shared_;
  self.exited_lanes = exited_lanes_;

  GuardedThread guarded(request.timeout);
  active_scheduler = this;
  if (sigsetjmp(escape, 1) == 0) {
    uint64_t linear;
    while (launch.take_block(&linear)) run_block(linear);
    active_scheduler = nullptr;
  } else {
    active_scheduler = nullptr;
    launch.stop = true;
    record_crash();
    // Threads that never finished still sit on their fibers, and wait: start anew.
    running_ = &main_;
    free_fibers_.clear();
    fibers_.clear();
    for (Thread& thread : threads_) thread.wait = Wait::kNothing;
  }
}

void Scheduler::record_crash() {
  if (crash.signal == 0) return;
  if (crash.signal == SIGFPE) {
    report("crash", crash.site, 0, "divides an integer by zero");
  } else if (crash.signal == SIGSEGV || crash.signal == SIGBUS) {
    report("crash", crash.site, 0,
           "touches address %p, which belongs to no array, or has more than %zu KB of local "
           "variables",
           crash.address, Fiber::kStackBytes >> 10);
  } else if (crash.signal == SIGILL) {
    report("crash", crash.site, 0, "runs into an illegal instruction");
  } else {
    report("timeout", crash.site, 0,
           "still runs after %g seconds: an endless loop, or one that waits for another thread",
           launch_->request.timeout);
  }
  crash = {};
}

void Scheduler::start_block(uint64_t linear) {
  Self& self = *simt_self;
  self.block_index = launch_->block_index(linear);
  self.thread = 0;
  self.thread_index = {0, 0, 0};
  unsigned num_threads = launch_->num_threads;
  if (launch_->request.order == kRandom) {
    random_ = Random(launch_->request.seed ^ (linear + 1) * 0x9e3779b97f4a7c15);
    for (unsigned i = 0; i < num_threads; ++i) order_[i] = ThreadId(i);
    random_.shuffle(order_.data(), num_threads);
  }
  self.next = order_.data();
  self.last = self.next + num_threads;
  self.num_ready = self.num_exited = 0;
  num_waiting_ = num_predicates_ = 0;
  yielded_.clear();
  for (unsigned i = 0, begin = 0; begin < num_threads; ++i, begin += 32) {
    self.exited_lanes[i] = 0;
    warps_[i].lanes = num_threads - begin >= 32 ? ~0u : (1u << (num_threads - begin)) - 1;
    warps_[i].num_meetings = 0;
  }

  // Shared memory of a new block holds anything; NaNs are what a test sees best.
  const Image& image = launch_->image;
  if (size_t size = image.thread_locals_size()) memset(image.thread_locals(), kPoison, size);
  if (size_t size = launch_->request.dynamic_shared) memset(shared_, kPoison, size);
  checker::begin_block(linear);
}

void Scheduler::run_block(uint64_t linear) {
  start_block(linear);
  switch_to(take_fiber());
}

// ---- fibers ---------------------------------------------------------------------------------

void Scheduler::run_fiber() {
  for (;;) {
    Scheduler& scheduler = *active_scheduler;
    scheduler.launch_->request.entry->run(scheduler.launch_->request.args);
    scheduler.free_fibers_.push_back(scheduler.running_);
    scheduler.switch_to(scheduler.next_fiber());
  }
}

Fiber* Scheduler::take_fiber() {
  if (free_fibers_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(int(fibers_.size()), &Scheduler::run_fiber));
    return fibers_.back().get();
  }
  Fiber* fiber = free_fibers_.back();
  free_fibers_.pop_back();
  return fiber;
}

// The fiber that goes on: of a released thread, else one for a thread that has not started.
Fiber* Scheduler::next_fiber() {
  Self& self = *simt_self;
  for (;;) {
    if (self.num_ready != 0) {
      --self.num_ready;
      self.thread = ready_[first_ready_++ % kMaxThreads];
      self.thread_index = self.indices[self.thread];
      threads_[self.thread].wait = Wait::kNothing;
      return threads_[self.thread].fiber;
    }
    if (self.next != self.last) return take_fiber();
    if (!yielded_.empty()) {
      for (ThreadId thread : yielded_) make_ready(thread);
      yielded_.clear();
      continue;
    }
    unsigned num_alive = launch_->num_threads - self.num_exited;
    if (num_alive == 0) return &main_;
    if (num_waiting_ != num_alive) report_deadlock();
    open_barrier();
  }
}

void Scheduler::switch_to(Fiber* fiber) {
  Fiber* from = running_;
  if (fiber == from) return;
  running_ = fiber;
  from->context.switch_to(fiber->context);
}

void Scheduler::park(Wait wait, const void* site) {
  Thread& thread = threads_[simt_self->thread];
  thread.fiber = running_;
  thread.site = site;
  thread.wait = wait;
  switch_to(next_fiber());
}

void Scheduler::make_ready(unsigned thread) {
  ready_[(first_ready_ + simt_self->num_ready++) % kMaxThreads] = ThreadId(thread);
}

// Every other thread that can run does so before this one goes on.
void Scheduler::yield() {
  threads_[simt_self->thread].fiber = running_;
  yielded_.push_back(ThreadId(simt_self->thread));
  switch_to(next_fiber());
}

// ---- the block's barrier --------------------------------------------------------------------

int Scheduler::wait_at_barrier(Barrier barrier, bool predicate, const void* site) {
  threads_[simt_self->thread].barrier = barrier;
  ++num_waiting_;
  num_predicates_ += predicate;
  park(Wait::kBarrier, site);
  switch (barrier) {
    case Barrier::kCount:
      return int(released_predicates_);
    case Barrier::kAnd:
      return released_predicates_ == released_;
    case Barrier::kOr:
      return released_predicates_ != 0;
    default:
      return 0;
  }
}

// Opens the barrier for everybody who waits there: all threads that have not exited.
void Scheduler::open_barrier() {
  checker::barrier();
  if (checker::kEnabled) check_barrier();
  released_ = num_waiting_;
  released_predicates_ = num_predicates_;
  num_waiting_ = num_predicates_ = 0;
  if (launch_->request.order == kRandom) random_.shuffle(order_.data(), order_.size());
  for (ThreadId thread : order_) {
    if (threads_[thread].wait == Wait::kBarrier) make_ready(thread);
  }
}

// The strict rule: every thread of the block comes to the same barrier. A GPU since Volta lets
// exited threads go, and takes different barriers for one; both hide mistakes.
void Scheduler::check_barrier() const {
  Self& self = *simt_self;
  const Thread* first = nullptr;
  for (unsigned i = 0; i < launch_->num_threads; ++i) {
    const Thread& thread = threads_[i];
    if (thread.wait != Wait::kBarrier) continue;
    if (!first) {
      first = &thread;
      self.thread_index = self.indices[i];
      if (self.num_exited != 0) {
        report("divergent-barrier", site_of(thread.site), 0,
               "waits at a barrier that %u of the block's %u threads, having returned, never reach",
               self.num_exited, launch_->num_threads);
      }
    } else if (thread.site != first->site || thread.barrier != first->barrier) {
      self.thread_index = self.indices[i];
      report("divergent-barrier", site_of(thread.site), site_of(first->site),
             "waits at one barrier while others of its block wait at another");
      return;
    }
  }
}

// ---- faults ---------------------------------------------------------------------------------

void Scheduler::report_deadlock() {
  Self& self = *simt_self;
  unsigned stuck = 0, at_barrier = 0;
  const Thread* someone_at_barrier = nullptr;
  for (unsigned i = launch_->num_threads; i-- > 0;) {
    if (threads_[i].wait == Wait::kLanes) stuck = i;
    if (threads_[i].wait == Wait::kBarrier) {
      ++at_barrier;
      someone_at_barrier = &threads_[i];
    }
  }
  const Warp& warp = warps_[stuck / 32];
  unsigned mask = 0, missing = 0;
  for (int i = 0; i < warp.num_meetings; ++i) {
    if (warp.meetings[i].arrived >> (stuck % 32) & 1) {
      mask = warp.meetings[i].mask;
      missing = mask & ~warp.meetings[i].arrived;
    }
  }
  self.thread = stuck;
  self.thread_index = self.indices[stuck];
  uint64_t other = someone_at_barrier ? site_of(someone_at_barrier->site) : 0;
  unsigned exited = missing & self.exited_lanes[stuck / 32];
  report("deadlock", site_of(threads_[stuck].site), other,
         "waits for lanes 0x%08x of mask 0x%08x, which do not come: 0x%08x have exited, and %u "
         "threads of the block wait at a barrier",
         missing, mask, exited, at_barrier);
  abandon();
}

}  // namespace simt

#define SIMT_SITE __builtin_return_address(0)

extern "C" {

void __syncthreads() {
  simt::active_scheduler->wait_at_barrier(simt::Barrier::kSync, false, SIMT_SITE);
}
int __syncthreads_count(int predicate) {
  return simt::active_scheduler->wait_at_barrier(simt::Barrier::kCount, predicate != 0, SIMT_SITE);
}
int __syncthreads_and(int predicate) {
  return simt::active_scheduler->wait_at_barrier(simt::Barrier::kAnd, predicate != 0, SIMT_SITE);
}
int __syncthreads_or(int predicate) {
  return simt::active_scheduler->wait_at_barrier(simt::Barrier::kOr, predicate != 0, SIMT_SITE);
}
void simt_yield() { simt::active_scheduler->yield(); }

void __threadfence_block() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  simt::checker::fence(false);
}
void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  simt::checker::fence(true);
}
void __threadfence_system() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  simt::checker::fence(true);
}

void __trap() {
  simt::report("trap", simt::site_of(SIMT_SITE), 0, "calls __trap()");
  simt::abandon();
}
void simt_assertion_failed(const char* condition) {
  simt::report("assertion", simt::site_of(SIMT_SITE), 0, "fails assert(%s)", condition);
  simt::abandon();
}

}  // extern "C"
