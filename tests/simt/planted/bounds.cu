// bounds.cu: memory that is not there, not aligned, or not to be written.

extern "C" __global__ void off_by_one(int n, const float* x, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) {
    out[i] = 1.0f;  // BUG: out-of-bounds
  }
}

extern "C" __global__ void off_by_one_repaired(int n, const float* x, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = 1.0f;
  }
}

extern "C" __global__ void reads_past_the_end(int n, const float* x, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i + 1] - x[i];  // BUG: out-of-bounds
}

extern "C" __global__ void reads_past_the_end_repaired(int n, const float* x, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i + 1 < n ? x[i + 1] - x[i] : 0.0f;
}

extern "C" __global__ void reads_before_the_begin(int n, const float* x, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __ldg(x + i - 1);  // BUG: out-of-bounds
}

extern "C" __global__ void reads_before_the_begin_repaired(int n, const float* x, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i > 0 ? __ldg(x + i - 1) : 0.0f;
}

extern "C" __global__ void index_overflows(int n, const float* x, float* out) {
  int i = threadIdx.x;
  if (i < n) out[i] = x[i * 100000000];  // BUG: out-of-bounds
}

extern "C" __global__ void index_overflows_repaired(int n, const float* x, float* out) {
  int i = threadIdx.x;
  if (i < n) out[i] = x[i * 100000000LL % n];
}

extern "C" __global__ void null_pointer(int n, const float* optional, float* out) {
  int i = threadIdx.x;
  if (i < n) out[i] = optional[i];  // BUG: out-of-bounds
}

extern "C" __global__ void null_pointer_repaired(int n, const float* optional, float* out) {
  int i = threadIdx.x;
  if (i < n) out[i] = optional ? optional[i] : 0.0f;
}

extern "C" __global__ void vector_reads_past_the_end(int n, const float* x, float* out) {
  int i = 4 * threadIdx.x;
  if (i < n) {
    float4 v = reinterpret_cast<const float4*>(x)[threadIdx.x];  // BUG: out-of-bounds
    out[threadIdx.x] = v.x;
  }
}

extern "C" __global__ void vector_reads_past_the_end_repaired(int n, const float* x, float* out) {
  int i = 4 * threadIdx.x;
  if (i + 3 < n) {
    float4 v = reinterpret_cast<const float4*>(x)[threadIdx.x];
    out[threadIdx.x] = v.x;
  }
}

extern "C" __global__ void misaligned_vector(const float* x, float* out) {
  const float* row = x + 6 * threadIdx.x;            // rows of 6 floats
  float4 v = *reinterpret_cast<const float4*>(row);  // BUG: misaligned
  out[threadIdx.x] = v.w;
}

extern "C" __global__ void misaligned_vector_repaired(const float* x, float* out) {
  const float* row = x + 8 * threadIdx.x;
  float4 v = *reinterpret_cast<const float4*>(row);
  out[threadIdx.x] = v.w;
}

// 16 floats would fit 16 threads; the launch has 32.
extern "C" __global__ void dynamic_shared_too_small(const float* x, float* out) {
  extern __shared__ float scratch[];
  scratch[threadIdx.x] = x[threadIdx.x];  // BUG: shared-out-of-bounds
  __syncthreads();
  out[threadIdx.x] = scratch[0];
}

extern "C" __global__ void dynamic_shared_too_small_repaired(const float* x, float* out) {
  extern __shared__ float scratch[];
  if (threadIdx.x < 16) scratch[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = scratch[0];
}

__device__ void fill(float* to, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    to[i] = 1.0f;  // BUG: shared-out-of-bounds
  }
}

// The function does not know where the array ends, and the next array begins right there.
extern "C" __global__ void fills_beyond_a_shared_array(float* out) {
  __shared__ float first[32];
  __shared__ float second[32];
  second[threadIdx.x] = 0.0f;
  __syncthreads();
  fill(first, 33);
  __syncthreads();
  out[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
}

extern "C" __global__ void fills_beyond_a_shared_array_repaired(float* out) {
  __shared__ float first[32];
  __shared__ float second[32];
  second[threadIdx.x] = 0.0f;
  __syncthreads();
  fill(first, 32);
  __syncthreads();
  out[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
}

extern "C" __global__ void shared_index_too_large(const float* x, float* out) {
  __shared__ float tile[31];
  tile[threadIdx.x] = x[threadIdx.x];  // BUG: index-out-of-bounds
  __syncthreads();
  out[threadIdx.x] = tile[0];
}

extern "C" __global__ void shared_index_too_large_repaired(const float* x, float* out) {
  __shared__ float tile[32];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[0];
}

// Row 0, column 8 is row 1, column 0: no address betrays it.
extern "C" __global__ void column_beyond_the_row(const float* x, float* out) {
  __shared__ float tile[4][8];
  int row = threadIdx.x / 8, column = threadIdx.x % 8;
  tile[row][column] = x[threadIdx.x];
  __syncthreads();
  if (row < 3) out[threadIdx.x] = tile[row][column + 1];  // BUG: index-out-of-bounds
}

extern "C" __global__ void column_beyond_the_row_repaired(const float* x, float* out) {
  __shared__ float tile[4][8];
  int row = threadIdx.x / 8, column = threadIdx.x % 8;
  tile[row][column] = x[threadIdx.x];
  __syncthreads();
  if (column < 7) out[threadIdx.x] = tile[row][column + 1];
}

extern "C" __global__ void local_index_too_large(int n, float* out) {
  float value[4] = {1.0f, 2.0f, 3.0f, 4.0f};
  for (int i = 0; i <= n; ++i) {
    value[i] *= 2.0f;  // BUG: index-out-of-bounds
  }
  out[threadIdx.x] = value[threadIdx.x % 4];
}

extern "C" __global__ void local_index_too_large_repaired(int n, float* out) {
  float value[4] = {1.0f, 2.0f, 3.0f, 4.0f};
  for (int i = 0; i < n; ++i) {
    value[i] *= 2.0f;
  }
  out[threadIdx.x] = value[threadIdx.x % 4];
}

extern "C" __global__ void copies_too_much(const float* x, float* out) {
  __shared__ float tile[8];
  if (threadIdx.x == 0) {
    memcpy(tile, x, 9 * sizeof(float));  // BUG: shared-out-of-bounds
    out[0] = tile[7];
  }
}

extern "C" __global__ void copies_too_much_repaired(const float* x, float* out) {
  __shared__ float tile[8];
  if (threadIdx.x == 0) {
    memcpy(tile, x, 8 * sizeof(float));
    out[0] = tile[7];
  }
}

extern "C" __global__ void writes_its_input(const float* x, float* out) {
  float* y = const_cast<float*>(x);
  y[threadIdx.x] *= 2.0f;  // BUG: write-to-const
  out[threadIdx.x] = y[threadIdx.x];
}

extern "C" __global__ void writes_its_input_repaired(const float* x, float* out) {
  out[threadIdx.x] = 2.0f * x[threadIdx.x];
}

__constant__ float table[32] = {1.0f, 2.0f};

extern "C" __global__ void writes_a_constant(float* out) {
  float* entry = const_cast<float*>(table) + threadIdx.x;
  *entry = 1.0f;  // BUG: write-to-const
  out[threadIdx.x] = *entry;
}

extern "C" __global__ void writes_a_constant_repaired(float* out) {
  out[threadIdx.x] = table[threadIdx.x];
}
