// barriers.cu: barriers that not every thread of the block comes to.

extern "C" __global__ void barrier_on_both_sides(const float* x, float* out) {
  int t = threadIdx.x;
  if (x[t] > 0.0f) {
    __syncthreads();  // BUG: divergent-barrier
    out[t] = 1.0f;
  } else {
    __syncthreads();  // BUG: divergent-barrier
    out[t] = 2.0f;
  }
}

extern "C" __global__ void barrier_on_both_sides_repaired(const float* x, float* out) {
  int t = threadIdx.x;
  __syncthreads();
  out[t] = x[t] > 0.0f ? 1.0f : 2.0f;
}

extern "C" __global__ void returns_before_the_barrier(int n, const float* x, float* out) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  if (t >= n) return;
  tile[t] = x[t];
  __syncthreads();  // BUG: divergent-barrier
  out[t] = tile[n - 1 - t];
}

extern "C" __global__ void returns_before_the_barrier_repaired(int n, const float* x, float* out) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  if (t < n) tile[t] = x[t];
  __syncthreads();
  if (t < n) out[t] = tile[n - 1 - t];
}

extern "C" __global__ void barrier_for_some(const float* x, float* out) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  tile[t] = x[t];
  if (t < 32) __syncthreads();  // BUG: divergent-barrier
  out[t] = tile[t];
}

extern "C" __global__ void barrier_for_some_repaired(const float* x, float* out) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  tile[t] = x[t];
  __syncthreads();
  out[t] = tile[t];
}

extern "C" __global__ void loops_of_different_length(const int* count, float* out) {
  int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = 0; i < count[t]; ++i) {
    sum += 1.0f;
    __syncthreads();  // BUG: divergent-barrier
  }
  out[t] = sum;
  __syncthreads();  // BUG: divergent-barrier
}

extern "C" __global__ void loops_of_different_length_repaired(const int* count, float* out) {
  int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = 0; __syncthreads_or(i < count[t]); ++i) {
    if (i < count[t]) sum += 1.0f;
  }
  out[t] = sum;
}

extern "C" __global__ void barrier_and_shuffle_wait_for_each_other(int* out) {
  int t = threadIdx.x;
  if (t == 3) {
    __syncthreads();  // BUG: deadlock
    out[t] = 0;
  } else {
    out[t] = __shfl_sync(0xffffffff, t, 0);  // BUG: deadlock
  }
}

extern "C" __global__ void barrier_and_shuffle_wait_for_each_other_repaired(int* out) {
  int t = threadIdx.x;
  int first = __shfl_sync(0xffffffff, t, 0);
  __syncthreads();
  out[t] = first;
}

extern "C" __global__ void waits_for_a_thread_that_waits(int* flag) {
  if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) {  // BUG: timeout
    }
  }
  __syncthreads();
  if (threadIdx.x == 1) atomicExch(flag, 1);
}

extern "C" __global__ void waits_for_a_thread_that_waits_repaired(int* flag) {
  if (threadIdx.x == 1) atomicExch(flag, 1);
  if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) __nanosleep(100);
  }
  __syncthreads();
}
