// put_children.cu: moves every child from its room to its place in the population, and gives it its
// numbers. A team of `team` threads per child, a power of two up to a warp, copies neighbouring
// genes at once; its first thread then puts in the numbers.
#include "cuda/claims.h"

using namespace evonet;

extern "C" __global__ void __launch_bounds__(256)
    put_children(long long count, int team, const long long* __restrict__ room_start,
#define OUT(name) room_##name
#include "cuda/genes_parameters.h"
                 long long* __restrict__ requests, int* __restrict__ num_new,
                 unsigned int* __restrict__ split_first, int* __restrict__ split_place,
                 const long long* __restrict__ splits_before, unsigned int* __restrict__ add_first,
                 int* __restrict__ add_place, const long long* __restrict__ innovations_before,
                 long long next_node_key, long long next_innovation,
                 const long long* __restrict__ fitter, const long long* __restrict__ other,
                 const long long* __restrict__ parent_conn_start,
                 const int* __restrict__ parent_rank, const long long* __restrict__ node_start,
                 const long long* __restrict__ conn_start,
#define OUT(name) out_##name
#include "cuda/genes_parameters.h"
                 int* __restrict__ rank) {
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long child = thread / team;
  const int lane = int(thread % team);
  const bool inside = child < count;
  const Brood brood{count, room_start, nullptr, requests, num_new};
  const Genes<REAL> rooms = {
#define NAME(name) room_##name
#include "cuda/gene_pointers.h"
  };
  const Genes<REAL> all = {
#define NAME(name) out_##name
#include "cuda/gene_pointers.h"
  };
  Genes<REAL> to = all;
  int nodes = 0, conns = 0;
  if (inside) {
    const long long node = node_start[child], conn = conn_start[child];
    nodes = int(node_start[child + 1] - node);
    conns = int(conn_start[child + 1] - conn);
    to = all.at(node, conn);
    const Genes<REAL> from = rooms.at(brood.node_room(child), brood.conn_room(child));
    // Without parents there are no copies.
    const bool copied = fitter != nullptr && other[child] < 0;
    const int* const ranks = copied ? parent_rank + parent_conn_start[fitter[child]] : nullptr;
    for (int i = lane; i < nodes; i += team) to.copy_node(i, from, i);
    for (int i = lane; i < conns; i += team) {
      to.copy_connection(i, from, i);
      rank[conn + i] = copied ? ranks[i] : i;
    }
  }
  __syncwarp();
  if (!inside || lane != 0) return;
  const Request request = brood.request(child);
  if (request.num_new == 0 && request.split < 0) return;
  const SplitNumbers splits{{0, nullptr, split_first, split_place}, splits_before, next_node_key};
  const Claims additions{0, nullptr, add_first, add_place};
  GivenNumbers given = splits.node_of(request, child);
  if (request.split >= 0) {
    const long long first = splits.claims.first_of(child);
    given = split_numbers(given.node, next_innovation + innovations_before[first]);
  }
  if (request.target >= 0) {
    const long long first = additions.first_of(child);
    const bool split_too = requests[first] >= 0 && split_first[split_place[first]] == first;
    given.added = next_innovation + innovations_before[first] + (split_too ? kSplitInnovations : 0);
  }
  put_numbers(to, nodes, conns, request, given);
}
