// memory.cu: arrays, shared memory, atomics, indices. Correct kernels for the runner's own tests.

extern "C" __global__ void saxpy(int n, float a, const float* __restrict__ x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __fmaf_rn(a, x[i], y[i]);
}

extern "C" __global__ void where_am_i(int* out) {
  unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned i = block * (blockDim.x * blockDim.y * blockDim.z) + thread;
  out[4 * i] = threadIdx.x + 1000 * blockIdx.x;
  out[4 * i + 1] = threadIdx.y + 1000 * blockIdx.y;
  out[4 * i + 2] = threadIdx.z + 1000 * blockIdx.z;
  out[4 * i + 3] = dim3(blockDim).x * warpSize;
}

extern "C" __global__ void arrival(int* count, int* place) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  place[i] = atomicAdd(count, 1);
}

extern "C" __global__ void histogram(int n, int num_bins, const unsigned char* value, int* bins) {
  extern __shared__ int local[];
  for (int b = threadIdx.x; b < num_bins; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&local[value[i] % num_bins], 1);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < num_bins; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

extern "C" __global__ void all_atomics(int n, const int* x, int* ints, unsigned* words,
                                       unsigned long long* longs, float* floats, double* doubles) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = x[i];
  atomicAdd(&ints[0], v);
  atomicSub(&ints[1], v);
  atomicMin(&ints[2], v);
  atomicMax(&ints[3], v);
  atomicAnd(&ints[4], v);
  atomicOr(&ints[5], v);
  atomicXor(&ints[6], v);
  atomicAdd(&words[0], unsigned(v));
  atomicMin(&words[1], unsigned(v));
  atomicMax(&words[2], unsigned(v));
  atomicInc(&words[3], 6u);
  atomicDec(&words[4], 6u);
  words[8 + i] = atomicExch(&words[5], unsigned(i) + 1u);
  atomicAdd(&longs[0], (unsigned long long)(long long)v);
  atomicMax(&longs[1], (unsigned long long)v << 32);
  for (unsigned long long seen = longs[3], old; seen != ~0ull; seen = old) {
    old = atomicCAS(&longs[2], seen, seen + 1);
    if (old == seen) break;
  }
  atomicAdd(&floats[0], 0.5f);
  atomicAdd(&doubles[0], 0.25);
}

struct Particle {
  float3 position;
  int id;
};

extern "C" __global__ void vectors(const float4* x, float2* y, int* sizes, Particle* particles) {
  int i = threadIdx.x;
  float4 v = x[i];
  __stcs(&y[i], make_float2(v.x + v.y, v.z + v.w));
  particles[i].position = make_float3(v.x, v.y, v.z);
  particles[i].id = i;
  if (i == 0) {
    sizes[0] = 100 * sizeof(float2) + alignof(float2);
    sizes[1] = 100 * sizeof(float3) + alignof(float3);
    sizes[2] = 100 * sizeof(float4) + alignof(float4);
    sizes[3] = 100 * sizeof(double2) + alignof(double2);
    sizes[4] = 100 * sizeof(uchar4) + alignof(uchar4);
    sizes[5] = 100 * sizeof(longlong2) + alignof(longlong2);
    sizes[6] = 100 * sizeof(int3) + alignof(int3);
  }
}

__constant__ float coefficients[4];
__constant__ int shift = 3;
__device__ unsigned num_calls;

extern "C" __global__ void polynomial(const float* x, float* y) {
  int i = threadIdx.x;
  float t = __ldg(x + i), sum = 0.0f;
  for (int k = 3; k >= 0; --k) sum = sum * t + coefficients[k];
  y[i] = sum + float(shift);
  atomicAdd(&num_calls, 1u);
}

// Two arrays of different types carved out of one buffer, as kernels do it.
extern "C" __global__ void carved(const float* x, const unsigned char* order, float* y) {
  extern __shared__ __align__(16) unsigned char buffer[];
  float* value = reinterpret_cast<float*>(buffer);
  unsigned char* place = buffer + blockDim.x * sizeof(float);
  int i = threadIdx.x;
  value[i] = x[i];
  place[order[i]] = (unsigned char)i;
  __syncthreads();
  y[i] = value[place[i]];
}

extern "C" __global__ void rows(const float* x, float* y) {
  extern __shared__ float row[][8];
  int i = threadIdx.x / 8, j = threadIdx.x % 8;
  row[i][j] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = row[i][7 - j];
}

extern "C" __global__ void uninitialised(float* out) {
  __shared__ float value[32];
  if (blockIdx.x == 0) value[threadIdx.x] = 1.0f;
  out[blockIdx.x * blockDim.x + threadIdx.x] = value[threadIdx.x];
}

extern "C" __global__ void optional(const float* x, float* y) {
  y[threadIdx.x] = x ? x[threadIdx.x] : -1.0f;
}

extern "C" __global__ void copy_bytes(const float* x, float* y) {
  float local[4];
  memcpy(local, x + 4 * threadIdx.x, sizeof local);
  memset(y + 4 * threadIdx.x, 0, sizeof local);
  y[4 * threadIdx.x] = local[3];
}
