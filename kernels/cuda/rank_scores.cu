// rank_scores.cu: keys that rank the members of all species by score, once a stable sort has put
// them in ascending order. Members come the last first: of equals the younger ranks before the
// older. A thread per member.
#include "genetics/mating.h"

using namespace evonet;

extern "C" __global__ void __launch_bounds__(256)
    rank_scores(long long count, const double* __restrict__ scores,
                const long long* __restrict__ members, unsigned long long* __restrict__ keys) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) keys[i] = rank_key(scores[members[count - 1 - i]]);
}
