// gene_rules.h: the config's settings for genes, as plain numbers. Not in a namespace per
// instruction set: these structs cross from one translation unit to another.
#pragma once

namespace evonet {

template <class T>
struct FloatRule {
  T init_mean, init_stdev, mutate_power, max_value, min_value;
  float mutate_rate, replace_rate;
  bool init_uniform;
};

struct ChoiceRule {
  static constexpr int kMost = 32;
  float mutate_rate;
  int first;  // what a new gene gets, or -1 for a random option
  int count;
  unsigned char options[kMost];
};

struct BoolRule {
  float mutate_rate, to_true_add, to_false_add;
  int first;  // what a new gene gets: 0, 1, or -1 for random
};

// A genome's part of the config.
template <class T>
struct GenomeRules {
  FloatRule<T> bias, response, time_constant, weight;
  ChoiceRule activation, aggregation;
  BoolRule enabled;
  float conn_add, conn_delete, node_add, node_delete;
  bool single_structural_mutation, structural_mutation_surer, feed_forward;
};

// The config's settings for genetic distance.
template <class T>
struct DistanceRules {
  T disjoint, excess, weight, enable_penalty;
  bool include_nodes;
};

}  // namespace evonet
