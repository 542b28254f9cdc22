// forward_samples.cu: a thread per genome and VECTOR samples; nodes in order, no block barriers.
//
// A warp shares one genome, so links broadcast and branches never diverge. Lane l has the samples
// l, l + 32, ... of a tile of 32 VECTOR; its values lie as [slot][lane], so that one access of up
// to 128 bits brings all its samples of a slot. Links stream through a small buffer of the warp.
//
// REAL: float or double. VECTOR: samples per thread, at most 16 bytes of them. GLOBAL_VALUES:
// values in global memory, for genomes too large for shared memory.
#include "cuda_links.h"

using namespace evonet;

#define MOST_THREADS 128

extern "C" __global__ void __launch_bounds__(MOST_THREADS)
    forward_samples(int num_genomes, int num_inputs, int num_outputs, int shared_x,
                    long long num_samples, long long team_values,
                    const long long* __restrict__ node_start,
                    const long long* __restrict__ unit_start, const uint4* __restrict__ nodes,
                    const uint4* __restrict__ links, const int* __restrict__ output_slot,
                    const REAL* __restrict__ x, REAL* __restrict__ y, REAL* scratch) {
  using Row = Samples<REAL, VECTOR>;
  extern __shared__ uint4 shared[];
  const int block_warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  uint4* const chunk = shared + warp * kChunk;
#if GLOBAL_VALUES
  REAL* values = scratch + (blockIdx.x * (long long)block_warps + warp) * team_values;
#else
  REAL* values = reinterpret_cast<REAL*>(shared + block_warps * kChunk) + warp * int(team_values);
#endif
  const Column<REAL, VECTOR> column{reinterpret_cast<char*>(values + lane * VECTOR),
                                    32 * int(sizeof(Row))};

  const long long num_tiles = (num_samples + 32 * VECTOR - 1) / (32 * VECTOR);
  const long long num_teams = num_genomes * num_tiles;
  for (long long team = blockIdx.x * (long long)block_warps + warp; team < num_teams;
       team += gridDim.x * (long long)block_warps) {
    const long long genome = team / num_tiles;
    const long long b = (team - genome * num_tiles) * (32 * VECTOR) + lane;

    const REAL* const x_row = x + ((shared_x ? 0 : genome * num_samples) + b) * num_inputs;
    for (int i = 0; i < num_inputs; ++i) {
      Row row;
#pragma unroll
      for (int k = 0; k < VECTOR; ++k) {
        const bool inside = b + 32 * k < num_samples;
        row.at[k] = inside ? x_row[32ll * k * num_inputs + i] : REAL(0);
      }
      column.at(i) = row;
    }

    const int num_units = int(unit_start[genome + 1] - unit_start[genome]);
    LinkStream<REAL> stream(links + unit_start[genome], num_units, chunk, lane);
    const long long first_node = node_start[genome];
    const int num_nodes = int(node_start[genome + 1] - first_node);
    for (int node = 0; node < num_nodes; ++node) {
      const PackedNode<REAL> packed = load_node<REAL>(nodes, first_node + node);
      stream.start_node(packed.first_unit);
      column.at(num_inputs + node) = evaluate_node<REAL, VECTOR>(packed.genes(), stream, column);
    }

    REAL* const y_row = y + (genome * num_samples + b) * num_outputs;
    for (int o = 0; o < num_outputs; ++o) {
      const int slot = output_slot[genome * num_outputs + o];
      const Row row = slot < 0 ? Row{} : column(slot);
#pragma unroll
      for (int k = 0; k < VECTOR; ++k) {
        if (b + 32 * k < num_samples) y_row[32ll * k * num_outputs + o] = row.at[k];
      }
    }
    __syncwarp();
  }
}
