// loss.cu: a warp per genome adds up its losses by the tree of loss.h, one lane of it per thread.
//
// A loss is two numbers, a sum and what its roundings left out.
//
// REAL: float or double. LOSS: which, as loss.h numbers them.
#include "nodes/loss.h"

using namespace evonet;

constexpr int kMostThreads = 128;
// 64 registers where sm_80 would spill for the sake of more warps; else as many as suit (0).
constexpr int kLeastBlocks = sizeof(REAL) == 8 && LOSS == LOSS_CROSS_ENTROPY ? 8 : 0;

extern "C" __global__ void __launch_bounds__(kMostThreads, kLeastBlocks)
    loss(int num_genomes, int num_samples, int num_outputs, const REAL* __restrict__ outputs,
         const REAL* __restrict__ targets, REAL* __restrict__ losses) {
  const int genome = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (genome >= num_genomes) return;  // as a whole warp
  const int lane = threadIdx.x % 32;
  const REAL* const answers = outputs + (long long)genome * num_samples * num_outputs;
  LossSum<REAL> total{0, 0};
  for (int b = lane; b < num_samples; b += kLossLanes) {
    const long long row = (long long)b * num_outputs;
    total = add_losses(total, sample_loss<REAL>(
                                  LOSS, num_outputs, [&](int o) { return answers[row + o]; },
                                  [&](int o) { return targets[row + o]; }));
  }
  EVONET_UNROLL
  for (int half = kLossLanes / 2; half > 0; half /= 2) {
    const LossSum<REAL> other{__shfl_down_sync(0xffffffffu, total.sum, half),
                              __shfl_down_sync(0xffffffffu, total.rest, half)};
    total = add_losses(total, other);
  }
  if (lane == 0) {
    total = finish_loss(total);
    losses[2 * (long long)genome] = total.sum;
    losses[2 * (long long)genome + 1] = total.rest;
  }
}
