// forward_levels.cu: a thread per (node, sample) of a level, one barrier per level.
//
// A team of threads evaluates one genome on a tile of samples. Up to a warp, several teams share a
// block and meet at warp barriers; a wider team is a block. Values lie as [slot][sample] in shared
// memory, or in global memory if a genome is too large for that. Sums run in link order, never by
// atomics, so the bits do not depend on timing.
//
// REAL: float or double. WIDE_TEAM: a team is a block. GLOBAL_VALUES: values in global memory;
// teams then take genomes in turn. The size of a team and the tile are powers of two, and a team is
// at least as large as the tile. MEMORY: nodes remember; every step ends with a settling of their
// cells, and what they remember lies as [C][plane], a row of samples for each node.
#include "cuda/cells.h"

using namespace evonet;

static_assert(WIDE_TEAM || !GLOBAL_VALUES, "a genome of many slots gets a wide team");

constexpr int kMostThreads = WIDE_TEAM ? 512 : 128;
// Blocks whose registers an SM must have room for.
constexpr int kLeastBlocks = GLOBAL_VALUES ? 1 : 1024 / kMostThreads;

__device__ __forceinline__ void team_barrier(int team_size) {
#if WIDE_TEAM
  __syncthreads();
#else
  const unsigned members = 0xffffffffu >> (32 - team_size);
  __syncwarp(members << (threadIdx.x % 32 & ~(team_size - 1)));
#endif
}

extern "C" __global__ void __launch_bounds__(kMostThreads, kLeastBlocks)
    forward_levels(int num_genomes, int num_inputs, int num_outputs, int shared_x, int num_samples,
                   int team_size, int tile, long long team_values,
                   const long long* __restrict__ unit_start,
                   const long long* __restrict__ node_start,
                   const long long* __restrict__ level_start, const int* __restrict__ level_end,
                   const int* __restrict__ node_unit, const uint4* __restrict__ units,
                   const int* __restrict__ output_slot, const REAL* __restrict__ x,
                   REAL* __restrict__ y, REAL* scratch
#if MEMORY
                   ,
                   int kind, int num_states, int num_steps, REAL time_step,
                   const REAL* __restrict__ cell, const long long* __restrict__ num_slots,
                   long long plane, const REAL* __restrict__ state, REAL* __restrict__ next_state
#endif
    ) {
  const int block_teams = blockDim.x / team_size, block_team = threadIdx.x / team_size;
  const int thread = threadIdx.x & (team_size - 1), sample = thread & (tile - 1);
  const int first = thread / tile, step = team_size / tile;  // over nodes, inputs, outputs
  const int first_team = blockIdx.x * block_teams + block_team;
#if GLOBAL_VALUES
  REAL* values = scratch + first_team * team_values;
#else
  extern __shared__ uint4 shared[];
  REAL* values = reinterpret_cast<REAL*>(shared) + block_team * int(team_values);
#endif
  const Column<REAL, 1> first_slot{reinterpret_cast<char*>(values + sample),
                                   -tile * int(sizeof(REAL))};

  const int num_tiles = (num_samples - 1) / tile + 1, num_teams = num_genomes * num_tiles;
#if GLOBAL_VALUES
  for (int team = first_team; team < num_teams; team += gridDim.x * block_teams) {
#else
  if (const int team = first_team; team < num_teams) {
#endif
    const int genome = team / num_tiles, b = (team - genome * num_tiles) * tile + sample;
    const bool inside = b < num_samples;

    const REAL* const in = x + ((shared_x ? 0 : (long long)genome * num_samples) + b) * num_inputs;
    for (int i = first; i < num_inputs; i += step) {
      first_slot.one(-i, 0) = inside ? in[i] : REAL(0);
    }
#if MEMORY
    const Memory<REAL> memory{kind, num_states, time_step, cell};
    const long long first_node = node_start[genome];
    const int num_nodes = int(node_start[genome + 1] - first_node);
    const int first_state = int(num_slots[genome]) - num_states * num_nodes;
    for (int node = first; node < num_nodes; node += step) {
      const Column<REAL, 1> states = first_slot.seen_from(first_state + node);
      const long long row = (first_node + node) * num_samples;
      if (state == nullptr) {
        begin_node(memory, first_node + node, num_nodes, states);
      } else {
        load_node(memory, state + row, plane, b, num_samples, num_nodes, states);
      }
    }
#endif
    team_barrier(team_size);

    const uint4* const genome_units = units + unit_start[genome];
    const int* const genome_nodes = node_unit + node_start[genome];
    const int* const last_level = level_end + level_start[genome + 1];
#if MEMORY
    for (int turn = 0; turn < num_steps; ++turn) {
#endif
      const int* level = level_end + level_start[genome];
      for (int begin = 0; level < last_level; ++level) {
        const int end = *level;
        for (int node = begin + first; node < end; node += step) {
          const uint4* const unit = genome_units + genome_nodes[node];
          const NodeHeader<REAL> header = load_header<REAL>(unit);
          const GlobalLinks<REAL> links{unit + kHeaderUnits<REAL>};
          const Column<REAL, 1> column = first_slot.seen_from(header.slot());
          evaluate_node<REAL, 1>(header.genes(), links, column);
        }
        begin = end;
        team_barrier(team_size);
      }
#if MEMORY
      for (int node = first; node < num_nodes; node += step) {
        const int own = load_header<REAL>(genome_units + genome_nodes[node]).slot();
        settle_node(memory, first_node + node, num_nodes, first_slot.seen_from(own),
                    first_slot.seen_from(first_state + node));
      }
      team_barrier(team_size);
    }
    if (next_state != nullptr) {
      for (int node = first; node < num_nodes; node += step) {
        store_node(memory, next_state + (first_node + node) * num_samples, plane, b, num_samples,
                   num_nodes, first_slot.seen_from(first_state + node));
      }
    }
#endif

    const int* const slots = output_slot + (long long)genome * num_outputs;
    REAL* const out = y + ((long long)genome * num_samples + b) * num_outputs;
    for (int o = first; o < num_outputs; o += step) {
      if (inside) out[o] = slots[o] < 0 ? REAL(0) : first_slot.one(-slots[o], 0);
    }
#if GLOBAL_VALUES
    team_barrier(team_size);
#endif
  }
}
