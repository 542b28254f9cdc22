// faults.cpp: findings about the running thread, signals, the clock.
#include "faults.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "launch.h"
#include "scheduler.h"

namespace simt {

uint64_t site_of(const void* return_address) {
  const Image& image = current_launch->image;
  auto address = reinterpret_cast<uintptr_t>(return_address);
  return image.contains(address) ? address - image.base() : 0;
}

void report(const char* kind, uint64_t site, uint64_t other_site, const char* format, ...) {
  Finding finding{kind, site, other_site, simt_self->block_index, simt_self->thread_index, 1, {}};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(finding.text, sizeof finding.text, format, arguments);
  va_end(arguments);
  current_launch->findings.add(finding);
}

void abandon() { siglongjmp(active_scheduler->escape, 1); }

namespace {

constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction old_actions[NSIG];

int timeout_signal() { return SIGRTMIN + 6; }

uintptr_t program_counter(void* context) {
#if defined(__x86_64__)
  return uintptr_t(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return uintptr_t(static_cast<ucontext_t*>(context)->uc_mcontext.pc);
#else
  return 0;
#endif
}

void handle(int signal, siginfo_t* info, void* context) {
  Scheduler* scheduler = active_scheduler;
  if (!scheduler && signal == timeout_signal()) return;  // done just in time
  if (!scheduler) {  // not a kernel's crash: as if this handler did not exist
    sigaction(signal, &old_actions[signal], nullptr);
    return;
  }
  uintptr_t pc = program_counter(context);
  bool in_kernel = current_launch->image.contains(pc);
  // An endless loop comes back to the kernel; the runtime must not be left in mid-operation.
  if (signal == timeout_signal() && pc != 0 && !in_kernel) return;
  scheduler->crash.signal = signal;
  scheduler->crash.address = info->si_addr;
  scheduler->crash.site = in_kernel ? pc + 1 - current_launch->image.base() : 0;
  abandon();
}

}  // namespace

FaultHandlers::FaultHandlers() {
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : kCrashes) sigaction(signal, &action, &old_actions[signal]);
  action.sa_flags |= SA_RESTART;
  sigaction(timeout_signal(), &action, &old_actions[timeout_signal()]);
}

FaultHandlers::~FaultHandlers() {
  for (int signal : kCrashes) sigaction(signal, &old_actions[signal], nullptr);
  sigaction(timeout_signal(), &old_actions[timeout_signal()], nullptr);
}

GuardedThread::GuardedThread(double timeout) : stack_(static_cast<char*>(malloc(kStackBytes))) {
  stack_t stack = {};
  stack.ss_sp = stack_;
  stack.ss_size = kStackBytes;
  sigaltstack(&stack, &old_stack_);

  struct sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = timeout_signal();
  event._sigev_un._tid = pid_t(syscall(SYS_gettid));
  // CPU time: a loop without end uses it up, a busy machine does not.
  has_timer_ = timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) == 0;
  itimerspec due = {};
  due.it_value.tv_sec = time_t(timeout);
  due.it_value.tv_nsec = long((timeout - double(time_t(timeout))) * 1e9) | 1;  // 0 would disarm
  due.it_interval.tv_nsec = 10'000'000;
  if (has_timer_) timer_settime(timer_, 0, &due, nullptr);

#if defined(__x86_64__)
  old_float_control_ = _mm_getcsr();
  _mm_setcsr(0x1f80);
#endif
}

GuardedThread::~GuardedThread() {
#if defined(__x86_64__)
  _mm_setcsr(old_float_control_);
#endif
  if (has_timer_) timer_delete(timer_);
  sigaltstack(&old_stack_, nullptr);
  free(stack_);
}

}  // namespace simt
