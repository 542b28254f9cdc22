// gather_genomes.cu: all genes of a few genomes, side by side, for one copy to the host. Each has
// `stride` bytes: how many nodes and connections it has, then its arrays in the order of
// population.def, in rooms for the most that any genome has. A block per genome.
#include "genetics/genome_view.h"

using namespace evonet;

// Copies one array, and moves on behind its room; rooms are whole words of 8 bytes.
template <class T>
__device__ void put(const T* from, long long count, long long room, unsigned char*& to) {
  T* const there = reinterpret_cast<T*>(to);
  for (long long i = threadIdx.x; i < count; i += blockDim.x) there[i] = from[i];
  to += (room * (long long)sizeof(T) + 7) / 8 * 8;
}

extern "C" __global__ void __launch_bounds__(256)
    gather_genomes(const long long* __restrict__ genomes,
#define IN(name) in_##name
#include "cuda/population_parameters.h"
                   long long most_nodes, long long most_conns, long long stride,
                   unsigned char* __restrict__ gathered) {
  const long long genome = genomes[blockIdx.x];
  const long long node = in_node_start[genome], conn = in_conn_start[genome];
  const long long num_nodes = in_node_start[genome + 1] - node;
  const long long num_conns = in_conn_start[genome + 1] - conn;
  unsigned char* to = gathered + blockIdx.x * stride;
  if (threadIdx.x == 0) {
    reinterpret_cast<long long*>(to)[0] = num_nodes;
    reinterpret_cast<long long*>(to)[1] = num_conns;
  }
  to += 2 * sizeof(long long);
#define EVONET_NODE_GENE(type, name, meaning) put(in_##name + node, num_nodes, most_nodes, to);
#define EVONET_CONNECTION_GENE(type, name, meaning) \
  put(in_##name + conn, num_conns, most_conns, to);
#define EVONET_CONNECTION_ORDER(type, name, meaning) \
  put(in_##name + conn, num_conns, most_conns, to);
#include "genetics/population.def"
}
