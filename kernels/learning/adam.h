// adam.h: Adam (Kingma and Ba 2015) for one weight, or for a vector of them.
#pragma once

#include "numerics/portable.h"

EVONET_NAMESPACE_BEGIN

template <class T>
struct AdamRule {
  T keep_mean, keep_square;  // beta1, beta2
  T add_mean, add_square;    // 1 - beta1, 1 - beta2
  T epsilon;
};

// The averages start from zeros. What corrects that depends on the number n of updates alone, and
// comes from outside: rate / (1 - beta1^n) and 1 / (1 - beta2^n).
template <class T>
EVONET_FN void adam_step(const AdamRule<Lane<T>>& rule, Lane<T> corrected_rate, Lane<T> correction,
                         T gradient, T& weight, T& mean, T& square) {
  mean = multiply_add(all<T>(rule.keep_mean), mean, rule.add_mean * gradient);
  square = multiply_add(all<T>(rule.keep_square), square, (rule.add_square * gradient) * gradient);
  const T root = square_root(correction * square) + rule.epsilon;
  weight = weight - (corrected_rate * mean) / root;
}

EVONET_NAMESPACE_END
