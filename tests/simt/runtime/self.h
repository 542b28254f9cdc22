// self.h: what a running GPU thread knows about itself. Every scheduler has one and keeps it up to
// date at every switch; kernels and the runtime library both see it.
#pragma once

#include "vector_types.h"

namespace simt {

using ThreadId = unsigned short;  // the linear index of a thread within its block

struct Self {
  uint3 thread_index;
  unsigned thread;  // thread_index, linear
  uint3 block_index;
  uint3 block_dim;
  uint3 grid_dim;
  void* dynamic_shared;

  // The threads of the block that have not started yet, in the order in which they shall.
  const ThreadId* next;
  const ThreadId* last;
  const uint3* indices;  // thread_index of every linear index

  unsigned num_ready;  // threads that were released and wait for their turn
  unsigned num_exited;
  unsigned* exited_lanes;  // one bit per lane, one word per warp
};

}  // namespace simt

// The running thread of the calling OS thread. __thread rather than thread_local: no initialiser to
// look for at every access. The initial-exec model saves a call, but memory for it is scarce in a
// library that is loaded late: hence a pointer.
extern "C" __attribute__((tls_model("initial-exec"))) __thread simt::Self* simt_self;
