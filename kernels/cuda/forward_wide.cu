// forward_wide.cu: one level of large networks over the whole grid; a launch per level.
//
// A warp evaluates a strip, some nodes of the level, for 32 VECTOR samples. Their weights pass
// through shared memory, where reading them is a broadcast; values come from global memory. The
// warps of a block have different nodes and the same samples, so that the rows that they read meet
// in the first-level cache: a block of 32 warps fills a multiprocessor, and 32 samples of a
// thousand sources fill its cache. Nothing waits but the next launch. Sums run in link order, so
// the bits do not depend on timing.
//
// REAL: float or double. VECTOR: samples per thread. WARPS: of a block. What nodes remember is the
// business of grid_states.cu.
#include "cuda/grid.h"
#include "cuda/unit_reader.h"

using namespace evonet;

constexpr int kThreads = 32 * WARPS;
// Threads whose registers an SM must have room for, as many as do without spills: 64 registers for
// each, and from sm_100 on 80 of float32 with many samples and more of float64.
#if __CUDA_ARCH__ < 1000
constexpr int kLeastThreads = 1024;
#else
constexpr int kLeastThreads = sizeof(REAL) == 8 ? 512 : VECTOR == 1 ? 1024 : 768;
#endif
constexpr int kLeastBlocks = kLeastThreads / kThreads > 0 ? kLeastThreads / kThreads : 1;

// The bits of 32 / VECTOR lanes, VECTOR of each, in the order of their columns; a word for every
// 32 of them.
__device__ __forceinline__ void store_living(unsigned bits, unsigned* words) {
  constexpr int kLanes = 32 / VECTOR;  // whose bits fill a word
  const int lane = threadIdx.x % 32;
  bits <<= lane % kLanes * VECTOR;
  EVONET_UNROLL
  for (int step = 1; step < kLanes; step *= 2) bits |= __shfl_xor_sync(0xffffffffu, bits, step);
  if (lane % kLanes == 0) words[lane / kLanes] = bits;
}

extern "C" __global__ void __launch_bounds__(kThreads, kLeastBlocks)
    forward_wide(int first_strip, int num_strips, int row, long long genome_values,
                 const int4* __restrict__ strips, const uint4* __restrict__ units,
                 const int* __restrict__ num_columns, REAL* values, unsigned* living) {
  extern __shared__ uint4 dynamic_shared[];
  __shared__ unsigned end_units[WARPS];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int strip_blocks = (num_strips - 1) / WARPS + 1;
  const int group = blockIdx.x / strip_blocks;
  const int mine = (blockIdx.x - group * strip_blocks) * WARPS + warp;
  if (mine >= num_strips) return;  // as a whole warp
  const Strip strip = __builtin_bit_cast(Strip, __ldg(strips + first_strip + mine));
  const int column = (group * 32 + lane) * VECTOR, columns = num_columns[strip.genome];
  if (group * (32 * VECTOR) >= columns) return;  // all of them have left

  if (lane == 0) end_units[warp] = strip.end_unit;
  __syncwarp();
  UnitReader<REAL> reader(units, strip.first_unit, &end_units[warp],
                          reinterpret_cast<char*>(dynamic_shared), warp * kChunkBytes);
  const Column<REAL, VECTOR> first_slot{
      reinterpret_cast<char*>(values + strip.genome * genome_values + column),
      -row * int(sizeof(REAL))};
  unsigned bits = 0;
  EVONET_KEEP_LOOP
  for (int node = 0; node < strip.num_nodes; ++node) {
    const NodeHeader<REAL> header = reader.header();
    const Column<REAL, VECTOR> own = first_slot.seen_from(header.slot());
    evaluate_node<REAL, VECTOR>(header.genes(), reader, own);
    if (living != nullptr) {
      const Samples<REAL, VECTOR> value = own(0);
      EVONET_UNROLL
      for (int k = 0; k < VECTOR; ++k) bits |= unsigned(to_bits(value.at[k]) != 0) << k;
    }
  }
  if (living != nullptr) {
    EVONET_UNROLL
    for (int k = 0; k < VECTOR; ++k) bits &= ~(unsigned(column + k >= columns) << k);
    const long long words = (long long)mine * num_words(row) + group * VECTOR;
    store_living(bits, living + words);
  }
}
