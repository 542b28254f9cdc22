// global_races.cu: threads of one block, or of several, that meet in global memory.

extern "C" __global__ void sum_without_atomics(const float* x, float* out) {
  out[0] += x[threadIdx.x];  // BUG: global-race
}

extern "C" __global__ void sum_without_atomics_repaired(const float* x, float* out) {
  atomicAdd(out, x[threadIdx.x]);
}

extern "C" __global__ void sum_over_blocks(const float* x, float* out) {
  if (threadIdx.x == 0) out[0] += x[blockIdx.x];  // BUG: block-race
}

extern "C" __global__ void sum_over_blocks_repaired(const float* x, float* out) {
  if (threadIdx.x == 0) atomicAdd(out, x[blockIdx.x]);
}

// A barrier orders the threads of a block, not the blocks.
extern "C" __global__ void reads_a_neighbour_block(const float* x, float* y, float* out) {
  int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2.0f * x[i];  // BUG: block-race
  __syncthreads();
  out[i] = y[(i + 1) % n];  // BUG: block-race
}

extern "C" __global__ void reads_a_neighbour_block_repaired(const float* x, float* y, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2.0f * x[i];
  __syncthreads();
  out[i] = y[i ^ 1];  // stays within the block
}

extern "C" __global__ void stencil_in_place(float* x, int n) {
  int i = threadIdx.x;
  if (i > 0 && i < n - 1) {
    float next = 0.5f * (x[i - 1] + x[i + 1]);  // BUG: global-race
    x[i] = next;                                // BUG: global-race
  }
}

extern "C" __global__ void stencil_in_place_repaired(float* x, int n) {
  int i = threadIdx.x;
  float next = 0.0f;
  if (i > 0 && i < n - 1) next = 0.5f * (x[i - 1] + x[i + 1]);
  __syncthreads();
  if (i > 0 && i < n - 1) x[i] = next;
}

extern "C" __global__ void atomics_and_a_plain_write(int* count, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(count, 1);      // BUG: block-race
  if (i == 40) *count = 0;  // BUG: block-race
  out[i] = i;
}

extern "C" __global__ void atomics_and_a_plain_write_repaired(int* count, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(count, 1);
  if (i == 40) atomicExch(count, 0);
  out[i] = i;
}

// Counting is not enough: without a fence, the last block may see the count before the numbers.
extern "C" __global__ void last_block_without_fence(const float* x, volatile float* part,
                                                    unsigned* count, float* out) {
  if (threadIdx.x == 0) {
    part[blockIdx.x] = x[blockIdx.x];  // BUG: block-race
    if (atomicInc(count, gridDim.x - 1) == gridDim.x - 1) {
      float sum = 0.0f;
      for (int i = 0; i < int(gridDim.x); ++i) sum += part[i];  // BUG: block-race
      out[0] = sum;
    }
  }
}

extern "C" __global__ void last_block_without_fence_repaired(const float* x, volatile float* part,
                                                             unsigned* count, float* out) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    is_last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 1) {
    float sum = 0.0f;
    for (int i = 0; i < int(gridDim.x); ++i) sum += part[i];
    out[0] = sum;
  }
}

// The fence covers what was written before it.
extern "C" __global__ void fence_too_early(const float* x, float* part, unsigned* count,
                                           float* out) {
  if (threadIdx.x == 0) {
    __threadfence();
    part[blockIdx.x] = x[blockIdx.x];  // BUG: block-race
    if (atomicInc(count, gridDim.x - 1) == gridDim.x - 1) {
      out[0] = part[0] + part[gridDim.x - 1];  // BUG: block-race
    }
  }
}

extern "C" __global__ void fence_too_early_repaired(const float* x, float* part, unsigned* count,
                                                    float* out) {
  if (threadIdx.x == 0) {
    part[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    if (atomicInc(count, gridDim.x - 1) == gridDim.x - 1) {
      out[0] = part[0] + part[gridDim.x - 1];
    }
  }
}

// A fence orders the thread that calls it, and those it has met at a barrier.
extern "C" __global__ void fence_of_another_thread(const float* x, float* part, unsigned* count,
                                                   float* out) {
  if (threadIdx.x == 1) {
    part[blockIdx.x] = x[blockIdx.x];  // BUG: block-race
    __threadfence();
  }
  if (threadIdx.x == 0 && atomicInc(count, gridDim.x - 1) == gridDim.x - 1) {
    out[0] = part[0] + part[gridDim.x - 1];  // BUG: block-race
  }
}

extern "C" __global__ void fence_of_another_thread_repaired(const float* x, float* part,
                                                            unsigned* count, float* out) {
  if (threadIdx.x == 1) part[blockIdx.x] = x[blockIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    if (atomicInc(count, gridDim.x - 1) == gridDim.x - 1) {
      out[0] = part[0] + part[gridDim.x - 1];
    }
  }
}

extern "C" __global__ void scratch_without_barrier(const float* x, float* scratch, float* out) {
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  scratch[i] = x[i];                                                 // BUG: global-race
  out[i] = scratch[blockIdx.x * blockDim.x + (t + 5) % blockDim.x];  // BUG: global-race
}

extern "C" __global__ void scratch_without_barrier_repaired(const float* x, float* scratch,
                                                            float* out) {
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  scratch[i] = x[i];
  __syncthreads();
  out[i] = scratch[blockIdx.x * blockDim.x + (t + 5) % blockDim.x];
}

// Four threads keep their byte in one word. Whole words lose updates, bytes do not.
extern "C" __global__ void bytes_through_words(unsigned char* bytes) {
  unsigned* word = reinterpret_cast<unsigned*>(bytes) + threadIdx.x / 4;
  unsigned bit = 1u << (8 * (threadIdx.x % 4));
  *word |= bit;  // BUG: global-race
}

extern "C" __global__ void bytes_through_words_repaired(unsigned char* bytes) {
  bytes[threadIdx.x] |= 1;
}

__device__ int next_ticket;

extern "C" __global__ void ticket_without_atomics(int* out) {
  if (threadIdx.x == 0) {
    int ticket = next_ticket;  // BUG: block-race
    next_ticket = ticket + 1;  // BUG: block-race
    out[blockIdx.x] = ticket;
  }
}

extern "C" __global__ void ticket_without_atomics_repaired(int* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = atomicAdd(&next_ticket, 1);
}
