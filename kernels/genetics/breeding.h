// breeding.h: one child from two parents, by one thread: inherit, change the structure, mutate the
// genes. The child's arrays have room for one node and three connections more than the fitter
// parent has.
//
// A structural mutation needs numbers that all children of a generation share, so it is only
// noted here, as a request; numbering.h says which numbers all children get, in their order.
// Until then a new node has the key kPendingNode and new connections an innovation from there on.
#pragma once

#include "genetics/genes.h"
#include "genetics/genome_view.h"
#include "numerics/key_table.h"

EVONET_NAMESPACE_BEGIN

// Scratch that a cycle check needs.
EVONET_FN int64 cycle_scratch(int64 num_nodes, int64 num_conns) {
  return table_slots(num_nodes) + 3 * (num_nodes + 2) + num_conns;
}

// Every gene of the fitter parent is inherited; where the other has it too, each attribute comes
// from either. A connection that is off in one of them is off in the child three times in four.
template <class T, class D>
EVONET_FN void inherit(Child<T>& child, const Genome<T>& fitter, const Genome<T>& other,
                       bool same_parent, D& draws) {
  const Genes<T>& c = child.genes;
  const ConstGenes<T>&a = fitter.genes, &b = other.genes;
  child.num_conns = fitter.num_conns;
  child.num_nodes = fitter.num_nodes;
  child.request = {-1, 0, -1, 0};
  int32 j = 0;
  PhiloxBlock r;
  for (int32 i = 0; i < fitter.num_conns; ++i) {
    const int at = i % kBlock;
    if (at == 0 && !same_parent) r = draws.block(FOR_INHERITED_CONNECTION, uint32(i), 1);
    c.copy_connection(i, a, i);
    if (same_parent) continue;
    while (j < other.num_conns && b.innovation[j] < a.innovation[i]) ++j;
    if (j == other.num_conns || b.innovation[j] != a.innovation[i]) continue;
    if (b.source[j] != a.source[i] || b.target[j] != a.target[i]) continue;
    c.weight[i] = r.word[0][at] >> 31 ? b.weight[j] : a.weight[i];
    c.enabled[i] = r.word[1][at] >> 31 ? b.enabled[j] : a.enabled[i];
    if (!(a.enabled[i] && b.enabled[j]) && uniform(r.word[2][at]) < 0.75f) c.enabled[i] = false;
  }
  j = 0;
  for (int32 i = 0; i < fitter.num_nodes; ++i) {
    const int at = i % kBlock;
    if (at == 0 && !same_parent) r = draws.block(FOR_INHERITED_NODE, uint32(i), 1);
    c.copy_node(i, a, i);
    if (same_parent) continue;
    while (j < other.num_nodes && b.node_key[j] < a.node_key[i]) ++j;
    if (j == other.num_nodes || b.node_key[j] != a.node_key[i]) continue;
    const uint32 bits = r.word[0][at];
    c.bias[i] = bits >> 31 ? b.bias[j] : a.bias[i];
    c.response[i] = bits >> 30 & 1 ? b.response[j] : a.response[i];
    c.activation[i] = bits >> 29 & 1 ? b.activation[j] : a.activation[i];
    c.aggregation[i] = bits >> 28 & 1 ? b.aggregation[j] : a.aggregation[i];
    c.time_constant[i] = bits >> 27 & 1 ? b.time_constant[j] : a.time_constant[i];
  }
}

template <class T>
EVONET_FN void append_connection(Child<T>& child, int64 source, int64 target, T weight,
                                 bool enabled) {
  const Genes<T>& c = child.genes;
  const int32 i = child.num_conns++;
  c.innovation[i] = kPendingNode + child.request.num_new++;
  c.source[i] = source;
  c.target[i] = target;
  c.weight[i] = weight;
  c.enabled[i] = enabled;
}

template <class T>
EVONET_FN void remove_connection(Child<T>& child, int32 i) {
  const Genes<T>& c = child.genes;
  if (c.innovation[i] >= kPendingNode) --child.request.num_new;
  --child.num_conns;
  for (; i < child.num_conns; ++i) c.copy_connection(i, c, i + 1);
}

// Would source -> target close a cycle? Looks at all connections, disabled ones too, since they
// may be enabled later.
template <class T>
EVONET_FN bool closes_cycle(const Child<T>& child, int64 source, int64 target) {
  const Genes<T>& c = child.genes;
  if (source < 0) return false;
  if (source == target) return true;
  bool feeds_any = false;
  for (int32 i = 0; i < child.num_conns; ++i) feeds_any |= c.source[i] == target;
  if (!feeds_any) return false;

  // Group connections by source, then walk on from the target.
  const int32 nodes = child.num_nodes;
  KeyTable index{c.node_key, child.scratch, table_bits(nodes)};
  index.build(nodes);
  int32* start = child.scratch + table_slots(nodes);
  int32* stack = start + nodes + 2;
  int32* seen = stack + nodes + 2;
  int32* reads = seen + nodes + 2;
  for (int32 k = 0; k <= nodes + 1; ++k) start[k] = 0;
  for (int32 k = 0; k < nodes; ++k) seen[k] = 0;
  for (int32 i = 0; i < child.num_conns; ++i) {
    if (c.source[i] >= 0) ++start[index.find(c.source[i]) + 2];
  }
  for (int32 k = 0; k < nodes; ++k) start[k + 2] += start[k + 1];
  for (int32 i = 0; i < child.num_conns; ++i) {
    if (c.source[i] >= 0) reads[start[index.find(c.source[i]) + 1]++] = index.find(c.target[i]);
  }
  const int32 wanted = index.find(source);
  int32 depth = 0;
  stack[depth++] = index.find(target);
  seen[stack[0]] = 1;
  while (depth > 0) {
    const int32 node = stack[--depth];
    for (int32 e = start[node]; e < start[node + 1]; ++e) {
      if (reads[e] == wanted) return true;
      if (!seen[reads[e]]) {
        seen[reads[e]] = 1;
        stack[depth++] = reads[e];
      }
    }
  }
  return false;
}

template <class T, class D>
EVONET_FN void add_connection(Child<T>& child, const GenomeRules<T>& rules, int32 num_inputs,
                              int32 num_outputs, uint32 to, uint32 from, D& draws) {
  const Genes<T>& c = child.genes;
  const int32 hidden = child.num_nodes - num_outputs;
  if (child.num_nodes == 0 || hidden + num_inputs == 0) return;
  const int64 target = c.node_key[choose(to, child.num_nodes)];
  const int32 pick = choose(from, hidden + num_inputs);
  const int64 source =
      pick < num_inputs ? -1 - int64(pick) : c.node_key[num_outputs + pick - num_inputs];
  for (int32 i = 0; i < child.num_conns; ++i) {
    if (c.source[i] == source && c.target[i] == target) {
      if (rules.structural_mutation_surer) c.enabled[i] = true;
      return;
    }
  }
  if (rules.feed_forward && closes_cycle(child, source, target)) return;
  const Philox r = draws.early(FOR_NEW_CONNECTION, 0);
  child.request.source = source;
  child.request.target = target;
  append_connection(child, source, target, first_value(rules.weight, r.word[0], r.word[1]),
                    first_flag(rules.enabled, r.word[2]));
}

template <class T, class D>
EVONET_FN void set_new_node(const Genes<T>& c, int32 i, int64 key, const GenomeRules<T>& rules,
                            Purpose purpose, D& draws, uint32 draw) {
  const Philox r = draws.early(purpose, 2 * draw), s = draws.early(purpose, 2 * draw + 1);
  c.node_key[i] = key;
  c.bias[i] = first_value(rules.bias, r.word[0], r.word[1]);
  c.response[i] = first_value(rules.response, r.word[2], r.word[3]);
  c.time_constant[i] = first_value(rules.time_constant, s.word[0], s.word[1]);
  c.activation[i] = first_option(rules.activation, s.word[2]);
  c.aggregation[i] = first_option(rules.aggregation, s.word[3]);
}

// The new node starts as neutral as possible: no bias, weight 1 before it, the old weight after it.
template <class T, class D>
EVONET_FN void add_node(Child<T>& child, const GenomeRules<T>& rules, uint32 which, D& draws) {
  const Genes<T>& c = child.genes;
  const int32 split = choose(which, child.num_conns);
  const int32 i = child.num_nodes++;
  set_new_node(c, i, kPendingNode, rules, FOR_NEW_NODE, draws, 0);
  c.bias[i] = T(0);
  c.enabled[split] = false;
  child.request.split = c.innovation[split];
  append_connection(child, c.source[split], kPendingNode, T(1), true);
  append_connection(child, kPendingNode, c.target[split], c.weight[split], true);
}

template <class T>
EVONET_FN void delete_node(Child<T>& child, int32 num_outputs, uint32 which) {
  const Genes<T>& c = child.genes;
  const int32 hidden = child.num_nodes - num_outputs;
  if (hidden == 0) return;
  const int32 gone = num_outputs + choose(which, hidden);
  const int64 key = c.node_key[gone];
  for (int32 i = child.num_conns; i-- > 0;) {
    if (c.source[i] == key || c.target[i] == key) remove_connection(child, i);
  }
  --child.num_nodes;
  for (int32 k = gone; k < child.num_nodes; ++k) c.copy_node(k, c, k + 1);
  if (key == kPendingNode) child.request.split = -1;
  if (key == child.request.source || key == child.request.target) child.request.target = -1;
}

template <class T>
EVONET_FN void delete_connection(Child<T>& child, uint32 which) {
  if (child.num_conns == 0) return;
  const int32 gone = choose(which, child.num_conns);
  const bool added = child.genes.source[gone] == child.request.source &&
                     child.genes.target[gone] == child.request.target;
  remove_connection(child, gone);
  if (added) child.request.target = -1;
}

template <class T, class D>
EVONET_FN void mutate_structure(Child<T>& child, const GenomeRules<T>& rules, int32 num_inputs,
                                int32 num_outputs, D& draws) {
  const Philox r = draws.early(FOR_STRUCTURE, 0), pick = draws.early(FOR_STRUCTURE, 1),
               more = draws.early(FOR_STRUCTURE, 2);
  bool does[4];  // add node, delete node, add connection, delete connection
  const float rate[4] = {rules.node_add, rules.node_delete, rules.conn_add, rules.conn_delete};
  if (rules.single_structural_mutation) {
    const float sum = rate[0] + rate[1] + rate[2] + rate[3];
    const float drawn = uniform(r.word[0]) * (sum > 1.0f ? sum : 1.0f);
    float below = 0.0f;
    for (int i = 0; i < 4; ++i) {
      does[i] = drawn >= below && drawn < below + rate[i];
      below += rate[i];
    }
  } else {
    for (int i = 0; i < 4; ++i) does[i] = uniform(r.word[i]) < rate[i];
  }
  if (does[0]) {
    if (child.num_conns > 0) {
      add_node(child, rules, pick.word[0], draws);
    } else if (rules.structural_mutation_surer) {
      add_connection(child, rules, num_inputs, num_outputs, more.word[0], more.word[1], draws);
    }
  }
  if (does[1]) delete_node(child, num_outputs, pick.word[1]);
  if (does[2] && child.request.target < 0) {
    add_connection(child, rules, num_inputs, num_outputs, pick.word[2], pick.word[3], draws);
  }
  if (does[3]) delete_connection(child, more.word[2]);
}

template <class T>
EVONET_FN bool can_mutate(const FloatRule<T>& rule) {
  return rule.mutate_rate > 0.0f || rule.replace_rate > 0.0f;
}

// Whether option i changes is word 3 of draw i; which one it becomes is a word of another draw.
EVONET_FN void mutate_options(const ChoiceRule& rule, unsigned char* options, int32 count,
                              const PhiloxBlock& decisions, const Draws& draws, uint32 first_pick,
                              int word) {
  if (rule.mutate_rate <= 0.0f) return;
  for (int32 i = 0; i < count; ++i) {
    if (uniform(decisions.word[3][i]) < rule.mutate_rate) {
      options[i] = any_option(rule, draws(FOR_NODE, first_pick + 4 * uint32(i)).word[word]);
    }
  }
}

template <class T, class D>
EVONET_FN void mutate_genes(Child<T>& child, const GenomeRules<T>& rules, D& draws) {
  const Genes<T>& c = child.genes;
  // A rule that cannot fire needs no draws, and no other draw depends on them.
  const auto fires = [](const FloatRule<T>& rule, float option_rate) {
    return can_mutate(rule) || option_rate > 0.0f;
  };
  const float activation_rate = rules.activation.mutate_rate;
  const float aggregation_rate = rules.aggregation.mutate_rate;
  const int32 nodes = child.num_nodes;
  draws.prepare({{FOR_CONNECTION, 0, 2, child.num_conns},
                 {FOR_NODE, 0, 4, fires(rules.bias, activation_rate) ? nodes : 0},
                 {FOR_NODE, 1, 4, fires(rules.response, aggregation_rate) ? nodes : 0},
                 {FOR_NODE, 2, 4, fires(rules.time_constant, 0.0f) ? nodes : 0}});
  for (int32 first = 0; first < child.num_conns; first += kBlock) {
    const int32 count = child.num_conns - first < kBlock ? child.num_conns - first : kBlock;
    const PhiloxBlock r = draws.block(FOR_CONNECTION, 2 * uint32(first), 2);
    mutate_values(rules.weight, c.weight + first, count, r);
    for (int32 i = 0; i < count; ++i) {
      if (flag_mutates(rules.enabled, c.enabled[first + i], r.word[3][i])) {
        c.enabled[first + i] = draws(FOR_CONNECTION, 2 * uint32(first + i) + 1).word[0] >> 31;
      }
    }
  }
  // Anew: a thread of a GPU has no register to keep them in until here.
  const bool bias = fires(rules.bias, activation_rate);
  const bool response = fires(rules.response, aggregation_rate);
  const bool time_constant = fires(rules.time_constant, 0.0f);
  for (int32 first = 0; first < child.num_nodes; first += kBlock) {
    const int32 count = child.num_nodes - first < kBlock ? child.num_nodes - first : kBlock;
    const uint32 draw = 4 * uint32(first);
    if (bias) {
      const PhiloxBlock r = draws.block(FOR_NODE, draw, 4);
      mutate_values(rules.bias, c.bias + first, count, r);
      mutate_options(rules.activation, c.activation + first, count, r, draws, draw + 3, 0);
    }
    if (response) {
      const PhiloxBlock r = draws.block(FOR_NODE, draw + 1, 4);
      mutate_values(rules.response, c.response + first, count, r);
      mutate_options(rules.aggregation, c.aggregation + first, count, r, draws, draw + 3, 1);
    }
    if (time_constant) {
      mutate_values(rules.time_constant, c.time_constant + first, count,
                    draws.block(FOR_NODE, draw + 2, 4));
    }
  }
}

// One child, up to the numbers of its structural mutations.
template <class T, class D>
EVONET_FN void breed(Child<T>& child, const Genome<T>& fitter, const Genome<T>& other,
                     bool same_parent, const GenomeRules<T>& rules, int32 num_inputs,
                     int32 num_outputs, D& draws) {
  draws.prepare({{FOR_INHERITED_CONNECTION, 0, 1, same_parent ? 0 : fitter.num_conns},
                 {FOR_INHERITED_NODE, 0, 1, same_parent ? 0 : fitter.num_nodes},
                 {FOR_STRUCTURE, 0, 1, 3},
                 {FOR_NEW_CONNECTION, 0, 1, 1},
                 {FOR_NEW_NODE, 0, 1, 2}});
  inherit(child, fitter, other, same_parent, draws);
  mutate_structure(child, rules, num_inputs, num_outputs, draws);
  mutate_genes(child, rules, draws);
}

EVONET_NAMESPACE_END
