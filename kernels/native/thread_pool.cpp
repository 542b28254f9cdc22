#include "native/thread_pool.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace evonet {
namespace {

// Threads that a small machine may be asked for: tests and measurements want some more than there
// are CPUs; thousands only cost memory.
constexpr int kManyThreads = 64;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

struct Job {
  const Task& task;
  const int64_t count;
  std::atomic<int64_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr error;
  std::mutex error_mutex;

  Job(const Task& task, int64_t count) : task(task), count(count) {}

  void work(int worker, const Interrupt::Poll* poll) {
    Interrupt interrupt(stop, poll);
    try {
      while (!interrupt.requested()) {
        const int64_t index = next.fetch_add(1, std::memory_order_relaxed);
        if (index >= count) break;
        task(worker, index, interrupt);
      }
    } catch (...) {
      std::lock_guard<std::mutex> lock(error_mutex);
      if (!error) error = std::current_exception();
      stop.store(true, std::memory_order_relaxed);
    }
  }
};

class Pool {
 public:
  std::mutex caller;  // held by the one thread whose job runs on the workers

  // With fewer workers if the system starts no more threads, and without any if it starts none.
  void run(Job& job, int num_workers, const Interrupt::Poll& poll) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      while (num_started_ < num_workers && start_worker()) ++num_started_;
      job_ = &job;
      seats_ = num_workers;
      epoch_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    job.work(0, &poll);
    std::unique_lock<std::mutex> lock(mutex_);
    job_ = nullptr;  // latecomers find nothing to do
    Interrupt interrupt(job.stop, &poll);
    while (!done_.wait_for(lock, Interrupt::kPeriod, [this] { return num_active_ == 0; })) {
      lock.unlock();
      interrupt.requested();  // the workers may be at it for long
      lock.lock();
    }
  }

 private:
  // Back-to-back calls are common, so a worker looks around briefly before it sleeps.
  static constexpr int kSpins = 4000;

  // False if there is no room for another thread. The next job tries again.
  bool start_worker() {
    const uint64_t seen = epoch_.load(std::memory_order_relaxed);
    try {
      std::thread([this, seen] { loop(seen); }).detach();
    } catch (const std::system_error&) {
      return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }

  void loop(uint64_t seen) {
    for (;;) {
      for (int i = 0; i < kSpins && epoch_.load(std::memory_order_acquire) == seen; ++i) relax();
      Job* job;
      int worker;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [&] { return epoch_.load(std::memory_order_relaxed) != seen; });
        seen = epoch_.load(std::memory_order_relaxed);
        if (job_ == nullptr || seats_ == 0) continue;
        worker = seats_--;  // 1..seats: this pool may have more threads than the job has scratch
        ++num_active_;
        job = job_;
      }
      job->work(worker, nullptr);
      std::lock_guard<std::mutex> lock(mutex_);
      if (--num_active_ == 0) done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::atomic<uint64_t> epoch_{0};
  Job* job_ = nullptr;
  int seats_ = 0;
  int num_active_ = 0;
  int num_started_ = 0;
};

// Never destroyed: its threads end with the process, and a forked child only drops the pointer
// to a pool whose threads and locks it did not inherit.
std::atomic<Pool*> the_pool{nullptr};

Pool& pool() {
  Pool* current = the_pool.load(std::memory_order_acquire);
  if (current == nullptr) {
    Pool* fresh = new Pool;
    if (the_pool.compare_exchange_strong(current, fresh)) {
      current = fresh;
#if defined(__unix__) || defined(__APPLE__)
      static const int registered =
          pthread_atfork(nullptr, nullptr, [] { the_pool.store(nullptr); });
      (void)registered;
#endif
    } else {
      delete fresh;
    }
  }
  return *current;
}

}  // namespace

bool Interrupt::requested() {
  if (stop_.load(std::memory_order_relaxed)) return true;
  if (poll_ == nullptr) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return false;
  next_ = now + kPeriod;
  const bool wanted = (*poll_)();
  if (wanted) stop_.store(true, std::memory_order_relaxed);
  return wanted;
}

int available_threads() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

int usable_threads(int wanted) {
  const int available = available_threads();
  return wanted <= 0 ? available : std::min(wanted, std::max(kManyThreads, 4 * available));
}

bool parallel_for(int threads, int64_t count, const Task& task, const Interrupt::Poll& poll) {
  threads = static_cast<int>(std::min<int64_t>(usable_threads(threads), count));
  Job job(task, count);
  if (threads <= 1) {
    job.work(0, &poll);
  } else {
    Pool& shared = pool();
    if (std::unique_lock<std::mutex> turn(shared.caller, std::try_to_lock); turn) {
      shared.run(job, threads - 1, poll);
    } else {
      job.work(0, &poll);
    }
  }
  if (job.error) std::rethrow_exception(job.error);
  return !job.stop.load();
}

}  // namespace evonet
