// wide_forward.cu: a block per sample: half a warp per row computes its logit, then the block the
// softmax over them. Sixteen threads add up the powers, each its own lane in order.
#include "cuda/wide_lists.h"

using namespace evonet;

constexpr int kMostThreads = 256;

extern "C" __global__ void __launch_bounds__(kMostThreads, 4)
    wide_forward(const float* __restrict__ dense, const float* __restrict__ weights,
                 const float* __restrict__ state, int width, const long long* __restrict__ begin,
                 const long long* __restrict__ end, const int* __restrict__ rows,
                 const long long* __restrict__ label_start, const int* __restrict__ labels,
                 float scale, float* __restrict__ gradient, float* __restrict__ loss,
                 unsigned char* __restrict__ hit) {
  __shared__ float part[kMostThreads];
  __shared__ float lanes[kRowLanes];
  __shared__ float label_sum, label_most;
  const long long sample = blockIdx.x;
  const int thread = threadIdx.x, threads = blockDim.x;
  const long long first = begin[sample], last = end[sample];
  const long long first_label = label_start[sample];
  const int num_labels = (int)(label_start[sample + 1] - first_label);
  if (num_labels == 0) {  // for the whole block
    for (long long e = first + thread; e < last; e += threads) gradient[e] = 0.0f;
    if (thread == 0) {
      loss[sample] = 0.0f;
      hit[sample] = 0;
    }
    return;
  }
  const float* const x = dense + sample * width;
  const int lane = thread % kRowLanes, together = threads / kRowLanes;
  for (long long e0 = first; e0 < last; e0 += together) {  // whole warps take part in shuffles
    const long long e = e0 + thread / kRowLanes;
    const long long row = e < last ? rows[e] : rows[first];
    float sum = 0.0f;
    for (int j = lane; j < width; j += kRowLanes) sum = fused(weights[row * width + j], x[j], sum);
    sum = add_half_warp(sum);
    if (lane == 0 && e < last) gradient[e] = sum + state[row * kRowState];
  }
  __syncthreads();
  float most = gradient[first];
  for (long long e = first + thread; e < last; e += threads) most = at_least(gradient[e], most);
  part[thread] = most;
  __syncthreads();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (thread < half) part[thread] = at_least(part[thread + half], part[thread]);
    __syncthreads();
  }
  most = part[0];
  if (thread == 0) {
    float sum = 0.0f, best = gradient[place_in_list(rows, first, last, labels[first_label])];
    for (int i = 0; i < num_labels; ++i) {
      const float logit = gradient[place_in_list(rows, first, last, labels[first_label + i])];
      sum = sum + logit;
      best = at_least(logit, best);
    }
    label_sum = sum;
    label_most = best;
  }
  __syncthreads();
  for (long long e = first + thread; e < last; e += threads) {
    gradient[e] = exp_below_0(gradient[e] - most);
  }
  __syncthreads();
  if (thread < kRowLanes) {
    float sum = 0.0f;
    for (long long e = first + thread; e < last; e += kRowLanes) sum = sum + gradient[e];
    lanes[thread] = sum;
  }
  __syncthreads();
  if (thread == 0) part[0] = add_lanes(lanes);
  __syncthreads();
  const float total = part[0], target = 1.0f / float(num_labels);
  for (long long e = first + thread; e < last; e += threads) {
    float share = gradient[e] / total;
    const long long at = place_in_list(labels, first_label, first_label + num_labels, rows[e]);
    if (at < first_label + num_labels && labels[at] == rows[e]) share = share - target;
    gradient[e] = share * scale;
  }
  if (thread == 0) {
    loss[sample] = softmax_loss(total, most, label_sum, num_labels);
    hit[sample] = label_most == most;
  }
}
