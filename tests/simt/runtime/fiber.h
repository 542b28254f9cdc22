// fiber.h: stacks that threads of a block run on, and the switch from one to another. The switch
// saves what the x86-64 calling convention says a callee keeps and takes a few nanoseconds;
// swapcontext, the fallback elsewhere, makes two system calls.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#if !defined(__x86_64__) && !defined(SIMT_UCONTEXT)
#define SIMT_UCONTEXT
#endif

#ifdef SIMT_UCONTEXT
#include <ucontext.h>
#else
extern "C" void simt_switch_stack(void** save, void* load);
#endif

namespace simt {

#ifdef SIMT_UCONTEXT

struct Context {
  ucontext_t state;

  void prepare(char* stack, size_t bytes, void (*entry)()) {
    getcontext(&state);
    state.uc_stack.ss_sp = stack;
    state.uc_stack.ss_size = bytes;
    state.uc_link = nullptr;
    makecontext(&state, entry, 0);
  }
  void switch_to(Context& other) { swapcontext(&state, &other.state); }
};

#else

struct Context {
  void* stack_pointer = nullptr;

  void prepare(char* stack, size_t bytes, void (*entry)()) {
    constexpr int kSavedRegisters = 6;
    auto top = reinterpret_cast<uintptr_t>(stack + bytes) & ~uintptr_t(15);
    void** slot = reinterpret_cast<void**>(top);
    *--slot = nullptr;  // entry's return address; it never returns
    *--slot = reinterpret_cast<void*>(entry);
    for (int i = 0; i < kSavedRegisters; ++i) *--slot = nullptr;
    stack_pointer = slot;
  }
  void switch_to(Context& other) { simt_switch_stack(&stack_pointer, other.stack_pointer); }
};

#endif

class Fiber {
 public:
  static constexpr size_t kStackBytes = 256 << 10;
  // No variable can reach across: a GPU gives a thread at most 512 KB of local memory.
  static constexpr size_t kGuardBytes = 512 << 10;

  Fiber() = default;  // of the OS thread itself: runs on the stack it is on

  Fiber(int number, void (*entry)()) {
    void* memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) abort();
    mprotect(memory, kGuardBytes, PROT_NONE);
    stack_ = static_cast<char*>(memory) + kGuardBytes;
    // All tops of stack at one address modulo a page would compete for the same cache lines.
    size_t colour = size_t(number) * 192 % 4096;
    context.prepare(stack_, kStackBytes - colour, entry);
  }
  ~Fiber() {
    if (stack_) munmap(stack_ - kGuardBytes, kGuardBytes + kStackBytes);
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  bool owns(uintptr_t address) const {
    return address - reinterpret_cast<uintptr_t>(stack_) < kStackBytes;
  }

  Context context;

 private:
  char* stack_ = nullptr;
};

}  // namespace simt
