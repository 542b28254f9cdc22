// first_plan.h: what the genomes of the first generation have in common.
#pragma once

namespace evonet {

struct FirstPlan {
  int num_inputs;
  int num_nodes;            // outputs and hidden
  int num_candidates;       // connections to choose from
  int num_wanted;           // how many a genome gets
  bool one_input;           // instead: all candidates of one random input
  const long long* source;  // [num_candidates]
  const long long* target;  // [num_candidates]
};

}  // namespace evonet
