// first_genome.h: a genome of the first generation.
#pragma once

#include "genetics/breeding.h"
#include "genetics/first_plan.h"

EVONET_NAMESPACE_BEGIN

// Outputs, then the plan's hidden nodes; of the candidate connections all, a random part, or those
// of one random input. A candidate's position is its innovation number.
template <class T>
EVONET_FN void make_first_genome(Child<T>& child, const FirstPlan& plan,
                                 const GenomeRules<T>& rules, const Draws& draws) {
  const Genes<T>& c = child.genes;
  child.request = {-1, 0, -1, 0};
  child.num_nodes = plan.num_nodes;
  for (int32 k = 0; k < plan.num_nodes; ++k) {
    set_new_node(c, k, k, rules, FOR_FIRST_NODE, draws, uint32(k));
  }
  const int64 only_input =
      plan.one_input && plan.num_inputs > 0
          ? -1 - int64(choose(draws(FOR_FIRST_STRUCTURE, 0).word[0], plan.num_inputs))
          : 0;
  int32 wanted = plan.num_wanted;
  child.num_conns = 0;
  for (int32 i = 0; i < plan.num_candidates; ++i) {
    if (plan.one_input && plan.source[i] != only_input) continue;
    // Selection sampling: each subset of num_wanted candidates is equally likely.
    const int32 left = plan.num_candidates - i;
    if (!plan.one_input && wanted < left &&
        choose(draws(FOR_FIRST_STRUCTURE, uint32(i)).word[0], left) >= wanted) {
      continue;
    }
    --wanted;
    const Philox r = draws(FOR_FIRST_CONNECTION, uint32(i));
    const int32 at = child.num_conns++;
    c.innovation[at] = i;
    c.source[at] = plan.source[i];
    c.target[at] = plan.target[i];
    c.weight[at] = first_value(rules.weight, r.word[0], r.word[1]);
    c.enabled[at] = first_flag(rules.enabled, r.word[2]);
  }
}

EVONET_NAMESPACE_END
