// wide_mark.cu: a block per list marks its rows, so that wide_update skips all others.
extern "C" __global__ void __launch_bounds__(256)
    wide_mark(const long long* __restrict__ begin, const long long* __restrict__ end,
              const int* __restrict__ list, int* __restrict__ marks) {
  for (long long e = begin[blockIdx.x] + threadIdx.x; e < end[blockIdx.x]; e += blockDim.x) {
    atomicExch(&marks[list[e]], 1);
  }
}
