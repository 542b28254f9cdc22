// learn_step.cu: the sums of a batch's gradients become a step of the optimiser; a warp per genome.
//
// Gene i of each sort adds its square to lane i % 32, so that the norm has the bits of the other
// backends. A genome whose gradient is not finite stays as it is and learns no more.
//
// REAL: float or double. OPTIMIZER: one of optimizers.h. numbers are rate, momentum, beta1, beta2,
// epsilon, decay, clip, and the two corrections of this step.
#include "learning/optimizers.h"

using namespace evonet;

constexpr int kThreads = 128;

struct GeneSort {
  REAL *gene, *first, *second, *gradient;
  long long begin, end;
  bool learns, decays;
};

extern "C" __global__ void __launch_bounds__(kThreads)
    learn_step(int num_genomes, int batch, int weights, int biases, int responses, REAL clip,
               const long long* __restrict__ node_start, const long long* __restrict__ edge_start,
               const REAL* __restrict__ rules, const REAL* __restrict__ sums,
               REAL* __restrict__ weight_gradient, REAL* __restrict__ bias_gradient,
               REAL* __restrict__ response_gradient, REAL* __restrict__ weight,
               REAL* __restrict__ bias, REAL* __restrict__ response,
               REAL* __restrict__ first_weight, REAL* __restrict__ first_bias,
               REAL* __restrict__ first_response, REAL* __restrict__ second_weight,
               REAL* __restrict__ second_bias, REAL* __restrict__ second_response,
               unsigned char* __restrict__ active, long long* __restrict__ steps,
               REAL* __restrict__ losses) {
  const int genome = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (genome >= num_genomes || !active[genome]) return;  // as a whole warp
  const long long node = node_start[genome], end = node_start[genome + 1];
  const GeneSort sorts[3] = {
      {weight, first_weight, second_weight, weight_gradient, edge_start[node], edge_start[end],
       weights != 0, true},
      {bias, first_bias, second_bias, bias_gradient, node, end, biases != 0, false},
      {response, first_response, second_response, response_gradient, node, end, responses != 0,
       false}};
  const REAL inverse = REAL(1) / REAL(batch);
  REAL square = REAL(0);
  EVONET_UNROLL
  for (int sort = 0; sort < 3; ++sort) {
    const GeneSort& group = sorts[sort];
    if (!group.learns) continue;
    EVONET_KEEP_LOOP
    for (long long i = group.begin + lane; i < group.end; i += 32) {
      const REAL mean = group.gradient[i] * inverse;
      group.gradient[i] = mean;
      square = multiply_add(mean, mean, square);
    }
  }
  EVONET_UNROLL
  for (int half = 16; half > 0; half /= 2) {
    square = square + __shfl_down_sync(0xffffffffu, square, half);
  }
  square = canonical(__shfl_sync(0xffffffffu, square, 0));
  const bool finite = square - square == REAL(0);
  if (lane == 0) {
    losses[genome] = sums[2 * (long long)genome] * inverse;
    if (finite) {
      ++steps[genome];
    } else {
      active[genome] = 0;
    }
  }
  if (!finite) return;
  const REAL scale = clip_scale(square, clip);
  EVONET_UNROLL
  for (int sort = 0; sort < 3; ++sort) {
    const GeneSort& group = sorts[sort];
    if (!group.learns) continue;
    const REAL* const r = rules + (group.decays ? 0 : 11);
    const StepRule<REAL> rule{r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10]};
    EVONET_KEEP_LOOP
    for (long long i = group.begin + lane; i < group.end; i += 32) {
      take_step<OPTIMIZER>(rule, group.gradient[i] * scale, group.gene[i], group.first[i],
                           group.second[i]);
    }
  }
}
