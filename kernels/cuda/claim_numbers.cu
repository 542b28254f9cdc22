// claim_numbers.cu: lets every child claim its mutation; a thread per child. ADDITIONS is 0 for
// splits, and 1 for added connections, whose ends may be nodes of splits.
#include "cuda/claims.h"

using namespace evonet;

extern "C" __global__ void __launch_bounds__(256)
    claim_numbers(long long count, long long* __restrict__ requests, int* __restrict__ num_new,
                  int bits, int* __restrict__ slots, unsigned int* __restrict__ first,
                  int* __restrict__ place, int split_bits, unsigned int* __restrict__ split_first,
                  int* __restrict__ split_place, const long long* __restrict__ splits_before,
                  long long next_node_key) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int child = int(i);
  const Brood brood{count, nullptr, nullptr, requests, num_new};
  const Claims claims{bits, slots, first, place};
  const Request request = brood.request(child);
#if ADDITIONS
  if (request.target < 0) return;
  const SplitNumbers splits{
      {split_bits, nullptr, split_first, split_place}, splits_before, next_node_key};
  const auto ends_of = [&](int each) {
    const Request its = brood.request(each);
    return added_ends(its, splits.node_of(its, each));
  };
  const AddedEnds ends = ends_of(child);
  claims.claim(child, hash_pair(ends.source, ends.target), [&](int holder) {
    const AddedEnds its = ends_of(holder);
    return its.source == ends.source && its.target == ends.target;
  });
#else
  if (request.split < 0) return;
  claims.claim(child, hash_key(request.split),
               [&](int holder) { return requests[holder] == request.split; });
#endif
}
