// count_flags.cu: how many flags are set, added to `total`; a thread per flag.
extern "C" __global__ void count_flags(long long count, const bool* __restrict__ flags,
                                       unsigned long long* __restrict__ total) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned int set = __ballot_sync(0xffffffffu, i < count && flags[i]);
  if (threadIdx.x % 32 == 0 && set != 0) atomicAdd(total, (unsigned long long)__popc(set));
}
