// count_numbers.cu: how many numbers each child takes, as the first one of its mutations; a thread
// per child. ADDITIONS is 0 for node keys, and 1 for innovations, of splits and of added
// connections.
#include "cuda/claims.h"

using namespace evonet;

extern "C" __global__ void __launch_bounds__(256)
    count_numbers(long long count, const long long* __restrict__ requests,
                  const unsigned int* __restrict__ split_first, const int* __restrict__ split_place,
                  const unsigned int* __restrict__ add_first, const int* __restrict__ add_place,
                  int* __restrict__ taken) {
  const long long child = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (child >= count) return;
  const bool splits = requests[child] >= 0 && split_first[split_place[child]] == child;
#if ADDITIONS
  const bool adds = requests[2 * count + child] >= 0 && add_first[add_place[child]] == child;
  taken[child] = kSplitInnovations * splits + adds;
#else
  taken[child] = splits;
#endif
}
