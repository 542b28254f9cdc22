// barriers.cu: block barriers. Correct kernels for the runner's own tests.

// Sums in a tree of fixed shape: halves, quarters, ... whatever the order of threads.
extern "C" __global__ void block_sum(int n, const float* x, float* out) {
  extern __shared__ float tile[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  tile[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) tile[t] += tile[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = tile[0];
}

extern "C" __global__ void __launch_bounds__(256) transpose(int n, const float* x, float* y) {
  __shared__ float tile[16][17];
  int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (row < n && column < n) tile[threadIdx.y][threadIdx.x] = x[row * n + column];
  __syncthreads();
  column = blockIdx.y * 16 + threadIdx.x;
  row = blockIdx.x * 16 + threadIdx.y;
  if (row < n && column < n) y[row * n + column] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void votes(const int* x, int* count, int* all, int* any) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  count[i] = __syncthreads_count(x[i] > 1);
  all[i] = __syncthreads_and(x[i]);
  any[i] = __syncthreads_or(x[i] > 2);
}

extern "C" __global__ void many_barriers(int n, int* out) {
  for (int i = 0; i < n; ++i) __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = n;
}

// A GPU since Volta waits for the threads that are left.
extern "C" __global__ void some_return_early(int n, int* out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (threadIdx.x >= n) return;
  atomicAdd(&count, 1);
  __syncthreads();
  out[threadIdx.x] = count;
}

extern "C" __global__ void hand_over(int* flag, int* out) {
  if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) < int(blockDim.x) - 1) __nanosleep(20);
    out[0] = *flag;
  } else {
    atomicAdd(flag, 1);
  }
}

// Each block adds its part; the last one to finish sums the parts, in order.
extern "C" __global__ void last_block_sums(const float* x, float* part, unsigned* count,
                                           float* out) {
  __shared__ bool is_last;
  int t = threadIdx.x;
  part[blockIdx.x * blockDim.x + t] = 2.0f * x[blockIdx.x * blockDim.x + t];
  __syncthreads();
  if (t == 0) {
    __threadfence();
    is_last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && t == 0) {
    float sum = 0.0f;
    for (int i = 0; i < int(gridDim.x * blockDim.x); ++i) sum += part[i];
    out[0] = sum;
  }
}
