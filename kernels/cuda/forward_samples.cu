// forward_samples.cu: a thread per genome and VECTOR samples; nodes in order, no block barriers.
//
// A warp shares one genome, so links broadcast and branches never diverge. Lane l has the samples
// l, l + 32, ... of a tile of 32 VECTOR; its values lie as [slot][lane], so that one access of up
// to 128 bits brings all its samples of a slot. Nodes and links pass through a small buffer.
//
// REAL: float or double. VECTOR: samples per thread, at most 16 bytes of them. GLOBAL_VALUES:
// values in global memory, for genomes too large for shared memory; warps then take teams in turn.
// MEMORY: nodes remember; see forward_levels.cu.
#include "cuda/cells.h"
#include "cuda/unit_reader.h"

using namespace evonet;

constexpr int kMostThreads = 128;
// Blocks whose registers an SM must have room for, as many as do without spills. An SM of sm_75
// takes no more than eight of any kind, and from sm_100 on kernels take more registers.
#if __CUDA_ARCH__ < 800 || __CUDA_ARCH__ >= 1000
constexpr int kFloatBlocks = 8;
#else
constexpr int kFloatBlocks = VECTOR == 4 ? 12 : 10;
#endif
constexpr int kLeastBlocks = MEMORY ? 5 : sizeof(REAL) == 8 || GLOBAL_VALUES ? 8 : kFloatBlocks;

// What a warp works on. It is rarely read; in shared memory it leaves registers to the loops.
struct Assignment {
  int genome, first_sample;
  unsigned end_unit;
  int first_state;  // slot; with MEMORY
};

using Row = Samples<REAL, VECTOR>;
constexpr int kRowBytes = 32 * sizeof(Row);

__device__ __forceinline__ void store_outputs(const Assignment& assignment, int num_outputs,
                                              int num_samples, const int* output_slot, REAL* y,
                                              char* first_slot) {
  const int b = assignment.first_sample + threadIdx.x % 32;
  const int* slots = output_slot + (long long)assignment.genome * num_outputs;
  REAL* out = y + ((long long)assignment.genome * num_samples + b) * num_outputs;
  EVONET_KEEP_LOOP
  for (int o = 0; o < num_outputs; ++o, ++slots, ++out) {
    const int slot = *slots;
    const Row row = slot < 0 ? Row{} : Column<REAL, VECTOR>{first_slot, -kRowBytes}(-slot);
    EVONET_UNROLL
    for (int k = 0; k < VECTOR; ++k) {
      if (b + 32 * k < num_samples) out[32 * k * num_outputs] = row.at[k];
    }
  }
}

extern "C" __global__ void __launch_bounds__(kMostThreads, kLeastBlocks)
    forward_samples(int num_genomes, int num_inputs, int num_outputs, int shared_x, int num_samples,
                    long long team_values, const long long* __restrict__ unit_start,
                    const uint4* __restrict__ units, const int* __restrict__ output_slot,
                    const REAL* __restrict__ x, REAL* __restrict__ y, REAL* scratch
#if MEMORY
                    ,
                    const long long* __restrict__ node_start, const int* __restrict__ slot,
                    int kind, int num_states, int num_steps, REAL time_step,
                    const REAL* __restrict__ cell, const long long* __restrict__ num_slots,
                    long long plane, const REAL* __restrict__ state, REAL* __restrict__ next_state
#endif
    ) {
  __shared__ Assignment assignments[kMostThreads / 32];
  extern __shared__ uint4 dynamic_shared[];
  char* const shared = reinterpret_cast<char*>(dynamic_shared);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int first_team = blockIdx.x * (blockDim.x / 32) + warp;
#if GLOBAL_VALUES
  const int chunk = warp * kChunkBytes;
  char* const values = reinterpret_cast<char*>(scratch + first_team * team_values);
#else
  const int chunk = warp * (kChunkBytes + int(team_values) * int(sizeof(REAL)));
  char* const values = shared + chunk + kChunkBytes;
#endif
  char* const first_slot = values + lane * int(sizeof(Row));

  const int num_tiles = (num_samples - 1) / (32 * VECTOR) + 1, num_teams = num_genomes * num_tiles;
#if GLOBAL_VALUES
  for (int team = first_team; team < num_teams; team += gridDim.x * (blockDim.x / 32)) {
#else
  if (const int team = first_team; team < num_teams) {
#endif
    const int genome = team / num_tiles;
    const int first_sample = (team - genome * num_tiles) * (32 * VECTOR);
    const int b = first_sample + lane;
    if (lane == 0) assignments[warp] = {genome, first_sample, unsigned(unit_start[genome + 1]), 0};
#if MEMORY
    const long long first_node = node_start[genome];
    const int num_nodes = int(node_start[genome + 1] - first_node);
    if (lane == 0) {
      assignments[warp].first_state = int(num_slots[genome]) - num_states * num_nodes;
    }
#endif
    __syncwarp();
#if !MEMORY
    UnitReader<REAL> reader(units, unsigned(unit_start[genome]), &assignments[warp].end_unit,
                            shared, chunk);
#endif

    char* own = first_slot;
    const REAL* in = x + ((shared_x ? 0 : (long long)genome * num_samples) + b) * num_inputs;
    EVONET_KEEP_LOOP
    for (int i = 0; i < num_inputs; ++i, ++in, own += kRowBytes) {
      Row row;
      EVONET_UNROLL
      for (int k = 0; k < VECTOR; ++k) {
        const bool inside = b + 32 * k < num_samples;
        row.at[k] = inside ? in[32 * k * num_inputs] : REAL(0);
      }
      *reinterpret_cast<Row*>(own) = row;
    }

#if MEMORY
    const Memory<REAL> memory{kind, num_states, time_step, cell};
    const Column<REAL, VECTOR> column{first_slot, -kRowBytes};
    const int& first_state = assignments[warp].first_state;
    EVONET_KEEP_LOOP
    for (int node = 0; node < num_nodes; ++node) {
      const Column<REAL, VECTOR> states = column.seen_from(first_state + node);
      const long long row = (first_node + node) * num_samples;
      if (state == nullptr) {
        begin_node(memory, first_node + node, num_nodes, states);
      } else {
        load_node(memory, state + row, plane, b, num_samples, num_nodes, states);
      }
    }
    EVONET_KEEP_LOOP
    for (int turn = 0; turn < num_steps; ++turn) {
      UnitReader<REAL> reader(units, unsigned(unit_start[genome]), &assignments[warp].end_unit,
                              shared, chunk);
#endif
      bool more = unit_start[genome] < unit_start[genome + 1];
      while (more) {
        const NodeHeader<REAL> node = reader.header();
        evaluate_node<REAL, VECTOR>(
            node.genes(), reader,
            Column<REAL, VECTOR>{first_slot, -kRowBytes}.seen_from(node.slot()));
        more = !node.is_last();
      }
#if MEMORY
      EVONET_KEEP_LOOP
      for (int node = 0; node < num_nodes; ++node) {
        settle_node(memory, first_node + node, num_nodes, column.seen_from(slot[first_node + node]),
                    column.seen_from(first_state + node));
      }
      __syncwarp();  // before the next reader fills the chunk that lanes may still read
    }
    if (next_state != nullptr) {
      EVONET_KEEP_LOOP
      for (int node = 0; node < num_nodes; ++node) {
        store_node(memory, next_state + (first_node + node) * num_samples, plane, b, num_samples,
                   num_nodes, column.seen_from(first_state + node));
      }
    }
#endif

    store_outputs(assignments[warp], num_outputs, num_samples, output_slot, y, first_slot);
    __syncwarp();
  }
}
