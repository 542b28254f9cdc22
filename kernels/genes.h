// genes.h: how a single gene begins, mutates and is told apart from another, as neat-python does.
#pragma once

#include "gene_rules.h"
#include "philox.h"

EVONET_NAMESPACE_BEGIN

template <class T>
EVONET_FN T clamp_value(const FloatRule<T>& rule, T value) {
  value = value < rule.max_value ? value : rule.max_value;
  return value > rule.min_value ? value : rule.min_value;
}

template <class T>
EVONET_FN T first_value(const FloatRule<T>& rule, uint32 a, uint32 b) {
  if (!rule.init_uniform) {
    return clamp_value(rule, rule.init_mean + rule.init_stdev * T(normal(a, b)));
  }
  T reach = T(2) * rule.init_stdev;
  T low = rule.init_mean - reach, high = rule.init_mean + reach;
  low = low > rule.min_value ? low : rule.min_value;
  high = high < rule.max_value ? high : rule.max_value;
  return low + (high - low) * T(uniform(a));
}

template <class T>
EVONET_FN T mutated_value(const FloatRule<T>& rule, T value, uint32 decision, uint32 a, uint32 b) {
  float r = uniform(decision);
  if (r < rule.mutate_rate) {
    return clamp_value(rule, value + rule.mutate_power * T(normal(a, b)));
  }
  return r < rule.mutate_rate + rule.replace_rate ? first_value(rule, a, b) : value;
}

EVONET_FN unsigned char any_option(const ChoiceRule& rule, uint32 word) {
  return rule.options[choose(word, rule.count)];
}

EVONET_FN unsigned char first_option(const ChoiceRule& rule, uint32 word) {
  return rule.first >= 0 ? (unsigned char)rule.first : any_option(rule, word);
}

EVONET_FN bool first_flag(const BoolRule& rule, uint32 word) {
  return rule.first >= 0 ? rule.first != 0 : (word >> 31) != 0;
}

// The mutation picks a random value, which may be the old one.
EVONET_FN bool flag_mutates(const BoolRule& rule, bool value, uint32 decision) {
  return uniform(decision) < rule.mutate_rate + (value ? rule.to_false_add : rule.to_true_add);
}

EVONET_NAMESPACE_END
