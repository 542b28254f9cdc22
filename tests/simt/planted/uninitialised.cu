// uninitialised.cu: shared memory starts with whatever the last block left there.

extern "C" __global__ void reads_what_nobody_wrote(int n, const float* x, float* out) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  if (t < n) tile[t] = x[t];
  __syncthreads();
  out[t] = tile[63 - t];  // BUG: uninitialised-shared
}

extern "C" __global__ void reads_what_nobody_wrote_repaired(int n, const float* x, float* out) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  tile[t] = t < n ? x[t] : 0.0f;
  __syncthreads();
  out[t] = tile[63 - t];
}

extern "C" __global__ void counts_from_anything(const float* x, int* out) {
  __shared__ int count;
  if (x[threadIdx.x] > 0.0f) atomicAdd(&count, 1);  // BUG: uninitialised-shared
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = count;
}

extern "C" __global__ void counts_from_anything_repaired(const float* x, int* out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (x[threadIdx.x] > 0.0f) atomicAdd(&count, 1);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = count;
}

extern "C" __global__ void only_the_first_block_prepares(const float* x, float* out) {
  extern __shared__ float scale[];
  int t = threadIdx.x;
  if (blockIdx.x == 0) scale[t] = 2.0f;
  __syncthreads();
  out[blockIdx.x * 64 + t] = scale[t] * x[t];  // BUG: uninitialised-shared
}

extern "C" __global__ void only_the_first_block_prepares_repaired(const float* x, float* out) {
  extern __shared__ float scale[];
  int t = threadIdx.x;
  scale[t] = 2.0f;
  __syncthreads();
  out[blockIdx.x * 64 + t] = scale[t] * x[t];
}
