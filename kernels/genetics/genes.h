// genes.h: how a single gene is initialised and mutated, as neat-python does.
#pragma once

#include "genetics/gene_rules.h"
#include "numerics/philox.h"

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
  // A mean far outside the range makes low exceed high; the value must stay in range even so.
  return clamp_value(rule, low + (high - low) * T(uniform(a)));
}

// Without branches, so that loops over it vectorise.
template <class T>
EVONET_FN T mutated_value(const FloatRule<T>& rule, T value, uint32 decision, uint32 a, uint32 b) {
  const float r = uniform(decision);
  const T drawn = T(normal(a, b));
  const T moved = clamp_value(rule, value + rule.mutate_power * drawn);
  const T fresh = clamp_value(rule, rule.init_mean + rule.init_stdev * drawn);
  const T kept = r < rule.mutate_rate + rule.replace_rate ? fresh : value;
  return r < rule.mutate_rate ? moved : kept;
}

// Mutates `count` values; value i uses draw i of the block.
template <class T>
EVONET_FN void mutate_values(const FloatRule<T>& given, T* values, int32 count,
                             const PhiloxBlock& draws) {
  const FloatRule<T> rule = given;  // a copy that the stores below cannot alias
  T block[kBlock];
  for (int i = 0; i < kBlock; ++i) block[i] = i < count ? values[i] : T(0);
  if (rule.init_uniform) {
    for (int i = 0; i < kBlock; ++i) {
      const float r = uniform(draws.word[0][i]);
      const bool replaced = r >= rule.mutate_rate && r < rule.mutate_rate + rule.replace_rate;
      const T fresh = first_value(rule, draws.word[1][i], draws.word[2][i]);
      const T moved =
          mutated_value(rule, block[i], draws.word[0][i], draws.word[1][i], draws.word[2][i]);
      block[i] = replaced ? fresh : moved;
    }
  } else {
    for (int i = 0; i < kBlock; ++i) {
      block[i] =
          mutated_value(rule, block[i], draws.word[0][i], draws.word[1][i], draws.word[2][i]);
    }
  }
  for (int i = 0; i < count; ++i) values[i] = block[i];
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
