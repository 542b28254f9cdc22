// loss.h: how far a network's answers are off, added up over samples by one fixed tree, so that the
// sum does not depend on who adds: sample b goes to lane b % 32, lanes add their samples in order,
// then lane l adds lane l + 16, l + 8, ... and the sum is in lane 0.
#pragma once

#include "activations.h"

EVONET_NAMESPACE_BEGIN

enum Loss : unsigned char { LOSS_SQUARED, LOSS_CROSS_ENTROPY, LOSS_MISSES, NUM_LOSSES };

static constexpr int kLossLanes = 32;

template <class T, class Output, class Target>
EVONET_FN T squared_loss(int num_outputs, Output output, Target target) {
  T sum = all<T>(Lane<T>(0));
  for (int o = 0; o < num_outputs; ++o) {
    const T error = output(o) - target(o);
    sum = multiply_add(error, error, sum);
  }
  return sum;
}

// -sum target ln softmax(output), with the largest output taken out of the exponents.
template <class T, class Output, class Target>
EVONET_FN T cross_entropy_loss(int num_outputs, Output output, Target target) {
  T largest = output(0);
  for (int o = 1; o < num_outputs; ++o) largest = at_least(output(o), largest);
  T powers = all<T>(Lane<T>(0)), picked = powers, share = powers;
  for (int o = 0; o < num_outputs; ++o) {
    const T below = output(o) - largest;
    powers = powers + activate_exp(below);
    picked = multiply_add(target(o), below, picked);
    share = share + target(o);
  }
  return share * activate_log(powers) - picked;
}

// 1 where the largest output is not that of the target. A single output means two classes, below
// 0.5 and from there on. An answer that is not a number is a miss.
template <class T, class Output, class Target>
EVONET_FN T miss(int num_outputs, Output output, Target target) {
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
  return valid > Lane<T>(0) ? wrong : one;
}

// The loss of one sample per lane of T; output(o) and target(o) are its numbers.
template <class T, class Output, class Target>
EVONET_FN T sample_loss(int loss, int num_outputs, Output output, Target target) {
  switch (loss) {
    case LOSS_CROSS_ENTROPY:
      return cross_entropy_loss<T>(num_outputs, output, target);
    case LOSS_MISSES:
      return miss<T>(num_outputs, output, target);
    default:
      return squared_loss<T>(num_outputs, output, target);
  }
}

EVONET_NAMESPACE_END
