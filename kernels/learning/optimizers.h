// optimizers.h: how a step changes genes. The gradient is that of the mean loss of a batch, scaled
// down where its norm over all learning genes of a genome is too large.
//
//   sgd    g += decay w;  m = momentum m + g;                        w -= rate m
//   adam   g += decay w;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
//                                     w -= (rate / (1 - b1^t)) m / (sqrt(v / (1 - b2^t)) + epsilon)
//   adamw  w -= rate decay w, then adam without the decay
//
// Only weights decay. A gene that would not stay finite stays as it is.
#pragma once

#include "learning/adam.h"

EVONET_NAMESPACE_BEGIN

// In the order of OPTIMIZERS in evonet/backends/learning.py.
enum Optimizer : int { OPTIMIZER_SGD, OPTIMIZER_ADAM, OPTIMIZER_ADAMW, NUM_OPTIMIZERS };

// The numbers of one step, for genes of one sort. Those that are made of others are made in float64
// and rounded once.
template <class L>
struct StepRule {
  L minus_rate, minus_rate_decay, decay;
  L momentum;
  L beta1, rest1, beta2, rest2;  // rest = 1 - beta
  L epsilon;
  L mean_factor, square_factor;  // rate / (1 - beta1^t) and 1 / (1 - beta2^t)
};

template <int kOptimizer, class T>
EVONET_FN void take_step(const StepRule<Lane<T>>& rule, T gradient, T& gene, T& first, T& second) {
  T now = gene;
  if constexpr (kOptimizer == OPTIMIZER_ADAMW)
    now = multiply_add(all<T>(rule.minus_rate_decay), gene, gene);
  else
    gradient = multiply_add(all<T>(rule.decay), gene, gradient);
  if constexpr (kOptimizer == OPTIMIZER_SGD) {
    first = multiply_add(all<T>(rule.momentum), first, gradient);
    now = multiply_add(all<T>(rule.minus_rate), first, now);
  } else {
    const AdamRule<Lane<T>> adam{rule.beta1, rule.beta2, rule.rest1, rule.rest2, rule.epsilon};
    adam_step(adam, rule.mean_factor, rule.square_factor, gradient, now, first, second);
  }
  gene = now - now == T{} ? now : gene;
}

// What gradients are multiplied by so that their norm is at most clip; 0 allows any norm.
template <class T>
EVONET_FN T clip_scale(T squared_norm, T clip) {
  const T norm = square_root(squared_norm);
  return clip > T(0) && norm > clip ? clip / norm : T(1);
}

EVONET_NAMESPACE_END
