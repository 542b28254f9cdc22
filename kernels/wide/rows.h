// rows.h: what all backends agree on about the rows of a wide level.
//
// A level is a matrix with a row per node and `width` columns, a multiple of kRowLanes; columns
// beyond the real ones hold zeros and stay zero. Lists name the few rows that a sample uses.
//
//   dot of two rows     kRowLanes sums, lane j of columns j, j + 16, ...; then the tree of
//   add_lanes sum of rows         column by column, in the order of the list sum over a softmax
//   kRowLanes sums over the list, then the same tree
//
// So vectors of any width, a thread or half a warp give the same bits.
#pragma once

#include "numerics/philox.h"

EVONET_NAMESPACE_BEGIN

constexpr int kRowLanes = 16;
// Numbers of a row besides its weights: bias, the bias' mean and square, how often it was updated.
constexpr int kRowState = 4;

// How often a row was updated, with this time: floats count as far as 2^24.
EVONET_FN float next_update(float updates) { return at_most(updates + 1.0f, 0x1p24f); }

// A row's first weights, before any scale: [-1, 1) for a column's word of a draw.
EVONET_FN float first_weight(uint32 word) { return uniform(word) * 2.0f - 1.0f; }

// Halves are added until one sum is left.
EVONET_FN float add_lanes(float* lane) {
  for (int half = kRowLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lane[i] = lane[i] + lane[i + half];
  }
  return lane[0];
}

// exp(x) for x <= 0; no less than exp(-60), which no sum of a softmax notices.
template <class T>
EVONET_FN T exp_below_0(T x) {
  const Reduced<T> z = reduce<Ln2>(at_least(x, all<T>(-60.0f)));
  return fused(exp_slope(z.r), z.r, 1.0f) * z.scale;
}

// The loss of a softmax against labels that share the target evenly.
EVONET_FN float softmax_loss(float total, float most, float label_sum, int32 num_labels) {
  return log_float(total) + (most - label_sum / float(num_labels));
}

EVONET_NAMESPACE_END
