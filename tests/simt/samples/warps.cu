// warps.cu: shuffles, votes and __syncwarp. Correct kernels for the runner's own tests.

#define FULL 0xffffffffu

extern "C" __global__ void shuffles(int width, const int* operand, const int* x, const double* y,
                                    int* out, double* wide) {
  int t = threadIdx.x, n = blockDim.x, k = operand[t];
  out[t] = __shfl_sync(FULL, x[t], k, width);
  out[n + t] = __shfl_up_sync(FULL, x[t], operand[0] & 31, width);
  out[2 * n + t] = __shfl_down_sync(FULL, x[t], operand[0] & 31, width);
  out[3 * n + t] = __shfl_xor_sync(FULL, x[t], operand[0] & 31, width);
  wide[t] = __shfl_sync(FULL, y[t], k, width);
}

extern "C" __global__ void warp_sum(const float* x, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = x[i];
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(FULL, sum, lanes);
  out[i] = sum;
}

// Four groups of lanes, chosen by the data, hold their own votes at the same time.
extern "C" __global__ void divergent_votes(const int* group, const int* x, unsigned* ballot,
                                           int* any, int* all, int* leader, unsigned* equal) {
  int t = threadIdx.x;
  unsigned mask = 0;
  for (int g = 0; g < 4; ++g) {
    unsigned members = __ballot_sync(FULL, group[t] == g);
    if (group[t] == g) mask = members;
  }
  equal[t] = __match_any_sync(mask, x[t]);
  switch (group[t]) {
    case 0:
      ballot[t] = __ballot_sync(mask, x[t] & 1);
      any[t] = __any_sync(mask, x[t] > 5);
      all[t] = __all_sync(mask, x[t] > 1);
      leader[t] = __shfl_sync(mask, x[t], __ffs(mask) - 1);
      break;
    case 1:
      leader[t] = __shfl_sync(mask, x[t], __ffs(mask) - 1);
      all[t] = __all_sync(mask, x[t] > 1);
      any[t] = __any_sync(mask, x[t] > 5);
      ballot[t] = __ballot_sync(mask, x[t] & 1);
      break;
    default:
      if (group[t] == 2) {
        all[t] = __all_sync(mask, x[t] > 1);
        ballot[t] = __ballot_sync(mask, x[t] & 1);
      } else {
        ballot[t] = __ballot_sync(mask, x[t] & 1);
        all[t] = __all_sync(mask, x[t] > 1);
      }
      any[t] = __any_sync(mask, x[t] > 5);
      leader[t] = __shfl_sync(mask, x[t], __ffs(mask) - 1);
  }
}

extern "C" __global__ void sync_and_share(const float* x, float* out) {
  __shared__ float value[4][32];
  int t = threadIdx.x, warp = t / 32, lane = t % 32;
  float sum = x[t];
  for (int step = 1; step < 32; step *= 2) {
    value[warp][lane] = sum;
    __syncwarp();
    if (lane >= step) sum += value[warp][lane - step];
    __syncwarp();
  }
  out[t] = sum;
}

// A prefix of the block: the last warp has lanes that do not exist, which nobody waits for.
extern "C" __global__ void partial_warp(int* out) {
  __syncwarp();
  out[threadIdx.x] = __popc(__ballot_sync(FULL, 1));
}

extern "C" __global__ void active(int* out) {
  out[threadIdx.x] = __activemask() >> (threadIdx.x % 32) & 1;
}
