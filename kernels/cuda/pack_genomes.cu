// pack_genomes.cu: writes what compile_genomes.cu has found as units, genome after genome without
// gaps. A team of TEAM lanes takes a genome, and a lane a node of it.
//
// REAL: float or double. `genes` are those of the population; `first_*` [P + 1] say where a
// genome's units, nodes and levels begin in what is written. With MEMORY: [c] `constants` are the
// numbers that all cells have alike, and CTRNN cells keep exp(-time step / time constant).
#include "cuda/unit_writer.h"
#include "nodes/activations.h"
#include "nodes/cells.h"
#include "schedule/node_order.h"

using namespace evonet;

constexpr int kMostThreads = 128;

__device__ __forceinline__ uint4 unit(const unsigned* words) {
  return {words[0], words[1], words[2], words[3]};
}

extern "C" __global__ void __launch_bounds__(kMostThreads) pack_genomes(
    int num_genomes, int wiring, const long long* __restrict__ node_start,
    const REAL* __restrict__ bias, const REAL* __restrict__ response,
    const unsigned char* __restrict__ activation, const unsigned char* __restrict__ aggregation,
    const long long* __restrict__ conn_start, const REAL* __restrict__ weight,
    const int* __restrict__ order, const int* __restrict__ slot, const int* __restrict__ link_end,
    const int* __restrict__ unit_end, const int* __restrict__ level_end,
    const int* __restrict__ link_source, const int* __restrict__ link_conn,
    const long long* __restrict__ first_unit, const long long* __restrict__ first_node,
    const long long* __restrict__ first_level, int* __restrict__ packed_level_end,
    int* __restrict__ node_unit, uint4* __restrict__ units
#if MEMORY
    ,
    int kind, int num_parameters, REAL time_step, const REAL* __restrict__ constants,
    const REAL* __restrict__ time_constant, const int* __restrict__ slots_of,
    int* __restrict__ packed_slot, long long* __restrict__ num_slots, REAL* __restrict__ cell
#endif
) {
  const int g = (blockIdx.x * blockDim.x + threadIdx.x) / TEAM, lane = threadIdx.x % TEAM;
  if (g >= num_genomes) return;
  const long long genes = node_start[g], conns = conn_start[g], to = first_node[g];
  const int num_nodes = int(first_node[g + 1] - to);
  const int num_levels = int(first_level[g + 1] - first_level[g]);
  EVONET_KEEP_LOOP
  for (int l = lane; l < num_levels; l += TEAM) {
    packed_level_end[first_level[g] + l] = level_end[genes + l];
  }
  EVONET_KEEP_LOOP
  for (int k = lane; k < num_nodes; k += TEAM) {
    const long long at = genes + k, gene = genes + order[at];
    const int own = slot[at], begin_unit = k == 0 ? 0 : unit_end[at - 1];
    const int begin = k == 0 ? 0 : link_end[at - 1], num_links = link_end[at] - begin;
    const bool idle = is_idle_node(Wiring(wiring), num_links);
    const bool adds = is_adding_node(Wiring(wiring), num_links);
    node_unit[to + k] = begin_unit;
    uint4* out = units + first_unit[g] + begin_unit;
    const HeaderWords<REAL> header = header_words<REAL>(
        idle ? REAL(0) : bias[gene], adds ? REAL(1) : response[gene], num_links,
        adds ? (unsigned char)AGG_SUM : aggregation[gene], own, k == num_nodes - 1,
        adds ? (unsigned char)ACT_IDENTITY : activation[gene]);
    EVONET_UNROLL
    for (int i = 0; i < kHeaderUnits<REAL>; ++i) *out++ = unit(header.word + 4 * i);
    const int* const sources = link_source + conns + begin;
    const int* const ids = link_conn + conns + begin;
    EVONET_KEEP_LOOP
    for (int e = 0; e < num_links; e += kLinksPerUnit<REAL>) {
      unsigned words[4] = {};
      EVONET_UNROLL
      for (int i = 0; i < kLinksPerUnit<REAL>; ++i) {
        if (e + i >= num_links) break;
        const LinkWords<REAL> link =
            link_words<REAL>(own - sources[e + i], weight[conns + ids[e + i]]);
        constexpr int kWords = 4 / kLinksPerUnit<REAL>;
        EVONET_UNROLL
        for (int w = 0; w < kWords; ++w) words[i * kWords + w] = link.word[w];
      }
      *out++ = unit(words);
    }
#if MEMORY
    packed_slot[to + k] = own;
    if (kind == KIND_CTRNN) {
      cell[to + k] = activate_exp(-time_step / time_constant[gene]);
    } else {
      for (int i = 0; i < num_parameters; ++i) {
        cell[(to + k) * num_parameters + i] = constants[i];
      }
    }
#endif
  }
#if MEMORY
  if (lane == 0) num_slots[g] = slots_of[g];
#endif
}
