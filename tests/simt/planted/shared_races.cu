// shared_races.cu: threads of a block that meet in shared memory without a barrier between them.
//
// In this folder a line that takes part in a fault says so, with the kind of the fault; which of
// two kinds it is may depend on the order of threads. Every kernel has a repaired twin.

extern "C" __global__ void missing_barrier(const float* x, float* out) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  tile[t] = x[t];         // BUG: shared-race
  out[t] = tile[63 - t];  // BUG: shared-race
}

extern "C" __global__ void missing_barrier_repaired(const float* x, float* out) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  tile[t] = x[t];
  __syncthreads();
  out[t] = tile[63 - t];
}

extern "C" __global__ void reduction_without_barrier(const float* x, float* out) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  tile[t] = x[t];
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (t < half) tile[t] += tile[t + half];  // BUG: shared-race
  }
  if (t == 0) out[0] = tile[0];
}

extern "C" __global__ void reduction_without_barrier_repaired(const float* x, float* out) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  tile[t] = x[t];
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (t < half) tile[t] += tile[t + half];
    __syncthreads();
  }
  if (t == 0) out[0] = tile[0];
}

extern "C" __global__ void one_buffer_for_two(const float* x, float* out) {
  __shared__ float value[64];
  int t = threadIdx.x;
  value[t] = x[t];
  __syncthreads();
  for (int step = 0; step < 4; ++step) {
    float left = value[(t + 63) % 64];  // BUG: shared-race
    value[t] = 0.5f * left;             // BUG: shared-race
    __syncthreads();
  }
  out[t] = value[t];
}

extern "C" __global__ void one_buffer_for_two_repaired(const float* x, float* out) {
  __shared__ float value[2][64];
  int t = threadIdx.x, now = 0;
  value[0][t] = x[t];
  __syncthreads();
  for (int step = 0; step < 4; ++step) {
    value[1 - now][t] = 0.5f * value[now][(t + 63) % 64];
    now = 1 - now;
    __syncthreads();
  }
  out[t] = value[now][t];
}

extern "C" __global__ void double_buffer_not_switched(const float* x, float* out) {
  __shared__ float value[2][64];
  int t = threadIdx.x, now = 0;
  value[0][t] = x[t];
  __syncthreads();
  for (int step = 0; step < 4; ++step) {
    float left = value[now][(t + 63) % 64];  // BUG: shared-race
    int next = step == 2 ? now : 1 - now;
    value[next][t] = 0.5f * left;  // BUG: shared-race
    now = 1 - now;
    __syncthreads();
  }
  out[t] = value[now][t];
}

extern "C" __global__ void double_buffer_not_switched_repaired(const float* x, float* out) {
  __shared__ float value[2][64];
  int t = threadIdx.x, now = 0;
  value[0][t] = x[t];
  __syncthreads();
  for (int step = 0; step < 4; ++step) {
    float left = value[now][(t + 63) % 64];
    int next = 1 - now;
    value[next][t] = 0.5f * left;
    now = next;
    __syncthreads();
  }
  out[t] = value[now][t];
}

extern "C" __global__ void tile_overwritten_too_early(const float* x, float* out) {
  __shared__ float tile[32];
  int t = threadIdx.x;
  float sum = 0.0f;
  for (int first = 0; first < 128; first += 32) {
    tile[t] = x[first + t];  // BUG: shared-race
    __syncthreads();
    for (int i = 0; i < 32; ++i) sum += tile[i];  // BUG: shared-race
  }
  out[t] = sum;
}

extern "C" __global__ void tile_overwritten_too_early_repaired(const float* x, float* out) {
  __shared__ float tile[32];
  int t = threadIdx.x;
  float sum = 0.0f;
  for (int first = 0; first < 128; first += 32) {
    tile[t] = x[first + t];
    __syncthreads();
    for (int i = 0; i < 32; ++i) sum += tile[i];
    __syncthreads();
  }
  out[t] = sum;
}

// Lanes of a warp need not run in step: what one wrote, another sees only after __syncwarp.
extern "C" __global__ void warp_without_syncwarp(const float* x, float* out) {
  __shared__ volatile float value[32];
  int t = threadIdx.x;
  value[t] = x[t];               // BUG: shared-race
  out[t] = value[(t + 1) % 32];  // BUG: shared-race
}

extern "C" __global__ void warp_without_syncwarp_repaired(const float* x, float* out) {
  __shared__ volatile float value[32];
  int t = threadIdx.x;
  value[t] = x[t];
  __syncwarp();
  out[t] = value[(t + 1) % 32];
}

// A shuffle makes lanes meet but promises nothing about memory.
extern "C" __global__ void shuffle_is_no_fence(const float* x, float* out) {
  __shared__ float value[32];
  int t = threadIdx.x;
  value[t] = x[t];  // BUG: shared-race
  int next = __shfl_sync(0xffffffff, t, (t + 1) % 32);
  out[t] = value[next];  // BUG: shared-race
}

extern "C" __global__ void shuffle_is_no_fence_repaired(const float* x, float* out) {
  __shared__ float value[32];
  int t = threadIdx.x;
  value[t] = x[t];
  int next = __shfl_sync(0xffffffff, t, (t + 1) % 32);
  __syncwarp();
  out[t] = value[next];
}

// Everybody has read when lane 0 writes, but nothing says that they have finished reading.
extern "C" __global__ void written_after_a_vote(const float* x, float* out) {
  __shared__ float limit;
  int t = threadIdx.x;
  if (t == 0) limit = 1.0f;
  __syncthreads();
  bool above = x[t] > limit;  // BUG: shared-race
  if (__any_sync(0xffffffff, above) == 0 && t == 0) {
    limit = 0.5f;  // BUG: shared-race
  }
  __syncthreads();
  out[t] = limit;
}

extern "C" __global__ void written_after_a_vote_repaired(const float* x, float* out) {
  __shared__ float limit;
  int t = threadIdx.x;
  if (t == 0) limit = 1.0f;
  __syncthreads();
  bool above = x[t] > limit;
  if (__syncthreads_or(above) == 0 && t == 0) {
    limit = 0.5f;
  }
  __syncthreads();
  out[t] = limit;
}

extern "C" __global__ void syncwarp_for_two_warps(const float* x, float* out) {
  __shared__ float value[64];
  int t = threadIdx.x;
  value[t] = x[t];  // BUG: shared-race
  __syncwarp();
  out[t] = value[63 - t];  // BUG: shared-race
}

extern "C" __global__ void syncwarp_for_two_warps_repaired(const float* x, float* out) {
  __shared__ float value[64];
  int t = threadIdx.x;
  value[t] = x[t];
  __syncwarp();
  out[t] = value[t ^ 1];  // stays within the warp
}

extern "C" __global__ void half_of_the_warp_synchronised(const float* x, float* out) {
  __shared__ float value[32];
  int t = threadIdx.x;
  value[t] = x[t];  // BUG: shared-race
  __syncwarp(t < 16 ? 0x0000ffff : 0xffff0000);
  out[t] = value[(t + 16) % 32];  // BUG: shared-race
}

extern "C" __global__ void half_of_the_warp_synchronised_repaired(const float* x, float* out) {
  __shared__ float value[32];
  int t = threadIdx.x;
  value[t] = x[t];
  __syncwarp(t < 16 ? 0x0000ffff : 0xffff0000);
  out[t] = value[(t + 8) % 16 + (t & 16)];
}

extern "C" __global__ void flag_written_by_many(const float* x, int* out) {
  __shared__ int found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  if (x[threadIdx.x] > 0.0f) found = threadIdx.x;  // BUG: shared-race
  __syncthreads();
  if (threadIdx.x == 0) out[0] = found;
}

extern "C" __global__ void flag_written_by_many_repaired(const float* x, int* out) {
  __shared__ int found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  if (x[threadIdx.x] > 0.0f) atomicMax(&found, int(threadIdx.x));
  __syncthreads();
  if (threadIdx.x == 0) out[0] = found;
}

extern "C" __global__ void counter_read_too_early(int* out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);                   // BUG: shared-race
  if (threadIdx.x == 63) out[0] = count;  // BUG: shared-race
}

extern "C" __global__ void counter_read_too_early_repaired(int* out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);
  __syncthreads();
  if (threadIdx.x == 63) out[0] = count;
}

__device__ void store(float* to, float value) {
  *to = value;  // BUG: shared-race
}

// The fault is where the memory is touched: in the function that both threads call.
extern "C" __global__ void race_inside_a_function(const float* x, float* out) {
  extern __shared__ float scratch[];
  store(scratch + threadIdx.x / 2, x[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = scratch[threadIdx.x / 2];
}

extern "C" __global__ void race_inside_a_function_repaired(const float* x, float* out) {
  extern __shared__ float scratch[];
  if (threadIdx.x % 2 == 0) store(scratch + threadIdx.x / 2, x[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = scratch[threadIdx.x / 2];
}
