// loss.h: how far a network's answers are off, added up over samples by one fixed tree, so that the
// sum does not depend on who adds: sample b goes to lane b % 32, lanes add their samples in order,
// then lane l adds lane l + 16, l + 8, ... and the sum is in lane 0.
//
// A float has seven digits, and evolution lives on progress in the ninth: a species that creeps
// towards an optimum must not look stagnant. So every sum carries along what its roundings lost.
#pragma once

#include "nodes/activations.h"

EVONET_NAMESPACE_BEGIN

static constexpr int kLossLanes = 32;

// A sum of about twice the digits: sum + rest, where rest is what rounding left out.
template <class T>
struct LossSum {
  T sum, rest;
};

// a + b is sum + rest, exactly (Knuth).
template <class T>
EVONET_FN LossSum<T> exact_sum(T a, T b) {
  const T sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

template <class T>
EVONET_FN LossSum<T> add_losses(LossSum<T> a, LossSum<T> b) {
  const LossSum<T> total = exact_sum(a.sum, b.sum);
  return {total.sum, (a.rest + b.rest) + total.rest};
}

// Squares are exact in float32, where a fused multiply-add finds their lower half.
template <class T>
EVONET_FN LossSum<T> exact_square(LossSum<T> error) {
  const T square = error.sum * error.sum;
  const T twice = (error.sum + error.sum) * error.rest;
  if constexpr (kIsFloat<T>)
    return {square, fused(error.sum, error.sum, -square) + twice};
  else
    return {square, twice};
}

template <class T, class Output, class Target>
EVONET_FN LossSum<T> loss_squared(int num_outputs, Output output, Target target) {
  const T zero = all<T>(Lane<T>(0));
  LossSum<T> total{zero, zero};
  for (int o = 0; o < num_outputs; ++o) {
    total = add_losses(total, exact_square(exact_sum(output(o), -target(o))));
  }
  return total;
}

// -sum target ln softmax(output), with the largest output taken out of the exponents.
template <class T, class Output, class Target>
EVONET_FN LossSum<T> loss_cross_entropy(int num_outputs, Output output, Target target) {
  T largest = output(0);
  for (int o = 1; o < num_outputs; ++o) largest = at_least(output(o), largest);
  T powers = all<T>(Lane<T>(0)), picked = powers, share = powers;
  for (int o = 0; o < num_outputs; ++o) {
    const T below = output(o) - largest;
    powers = powers + activate_exp(below);
    picked = multiply_add(target(o), below, picked);
    share = share + target(o);
  }
  return {share * activate_log(powers) - picked, all<T>(Lane<T>(0))};
}

// 1 where the largest output is not that of the target. A single output means two classes, below
// 0.5 and from 0.5 on. An answer that is NaN is a miss.
template <class T, class Output, class Target>
EVONET_FN LossSum<T> loss_misses(int num_outputs, Output output, Target target) {
  const T zero = all<T>(Lane<T>(0)), one = all<T>(Lane<T>(1));
  T found = zero, wanted = zero, valid = one;
  if (num_outputs == 1) {
    found = output(0) < Lane<T>(0.5) ? zero : one;
    wanted = target(0) < Lane<T>(0.5) ? zero : one;
    valid = output(0) == output(0) ? one : zero;
  } else {
    T highest = output(0), highest_target = target(0);
    valid = highest == highest ? one : zero;
    for (int o = 1; o < num_outputs; ++o) {
      const T y = output(o), t = target(o), here = all<T>(Lane<T>(o));
      found = y > highest ? here : found;
      highest = y > highest ? y : highest;
      wanted = t > highest_target ? here : wanted;
      highest_target = t > highest_target ? t : highest_target;
      valid = y == y ? valid : zero;
    }
  }
  const T wrong = found == wanted ? zero : one;
  return {valid > Lane<T>(0) ? wrong : one, zero};
}

// ln(p) of a probability; from 1e-7 down the line that touches it there, so that an answer that is
// surely wrong still has a slope.
template <class T>
EVONET_FN T log_of_probability(T p) {
  const T log = activate_log(p);
  return p > Lane<T>(1e-7) ? log : log + (p - Lane<T>(1e-7)) * Lane<T>(1e7);
}

template <class T, class Output, class Target>
EVONET_FN LossSum<T> loss_binary_cross_entropy(int num_outputs, Output output, Target target) {
  T total = all<T>(Lane<T>(0));
  for (int o = 0; o < num_outputs; ++o) {
    const T y = output(o), t = target(o);
    const T other = (Lane<T>(1) - t) * log_of_probability(Lane<T>(1) - y);
    total = total - multiply_add(t, log_of_probability(y), other);
  }
  return {total, all<T>(Lane<T>(0))};
}

template <class T, class Output, class Target>
EVONET_FN LossSum<T> loss_huber(int num_outputs, Output output, Target target) {
  T total = all<T>(Lane<T>(0));
  for (int o = 0; o < num_outputs; ++o) {
    const T error = output(o) - target(o), size = magnitude(error);
    total = total + (size <= Lane<T>(1) ? Lane<T>(0.5) * (error * error) : size - Lane<T>(0.5));
  }
  return {total, all<T>(Lane<T>(0))};
}

// The loss of one sample per lane of T; output(o) and target(o) are its numbers.
template <class T, class Output, class Target>
EVONET_FN LossSum<T> sample_loss(int loss, int num_outputs, Output output, Target target) {
  switch (loss) {
#define EVONET_LOSS(ID, name, formula) \
  case LOSS_##ID:                      \
    return loss_##name<T>(num_outputs, output, target);
#include "nodes/functions.def"
  }
  return {all<T>(Lane<T>(0)), all<T>(Lane<T>(0))};
}

// The derivative of a sample's loss by each of its outputs: visit(o, slope).
template <class T, class Output, class Target, class Visit>
EVONET_FN void loss_slopes(int loss, int num_outputs, Output output, Target target, Visit visit) {
  using L = Lane<T>;
  if (loss == LOSS_CROSS_ENTROPY) {
    T largest = output(0);
    for (int o = 1; o < num_outputs; ++o) largest = at_least(output(o), largest);
    T powers = all<T>(L(0)), share = powers;
    for (int o = 0; o < num_outputs; ++o) {
      powers = powers + activate_exp(output(o) - largest);
      share = share + target(o);
    }
    for (int o = 0; o < num_outputs; ++o) {
      const T probability = activate_exp(output(o) - largest) / powers;
      visit(o, multiply_add(share, probability, -target(o)));
    }
    return;
  }
  for (int o = 0; o < num_outputs; ++o) {
    const T y = output(o), t = target(o), error = y - t, one = all<T>(L(1));
    if (loss == LOSS_SQUARED) {
      visit(o, error + error);
    } else if (loss == LOSS_HUBER) {
      const T below = error < -one ? -one : error;
      visit(o, error > one ? one : below);
    } else if (loss == LOSS_BINARY_CROSS_ENTROPY) {
      const T least = all<T>(L(1e-7)), other = one - y;
      const T wrong = (one - t) / (other <= least ? least : other);
      visit(o, wrong - t / (y <= least ? least : y));
    } else {
      visit(o, all<T>(L(0)));  // misses change in jumps
    }
  }
}

// Infinite sums have no rest, and a NaN has one bit pattern.
template <class T>
EVONET_FN LossSum<T> finish_loss(LossSum<T> total) {
  return {canonical(total.sum), total.rest == total.rest ? total.rest : all<T>(Lane<T>(0))};
}

EVONET_NAMESPACE_END
