// number_runs.h: runs of nodes that sum, on one sample. A call per node would cost as much as a
// link or two here, so the formulas are part of the loop, and this compiles where they do.
#pragma once

#include "native/links.h"
#include "nodes/dispatch.h"

EVONET_NAMESPACE_BEGIN

template <class Activation, class T>
__attribute__((noinline)) void sum_numbers_with(const ScheduleView<T>& s, NodeRun run, T* values) {
  for (int64_t k = run.begin; k < run.end; ++k) {
    const int64_t edge = s.edge_start[k];
    const auto finish = [&](int, T sum) {
      values[s.slot[k]] = Activation::apply(preactivation(s.bias[k], s.response[k], sum));
    };
    fold_links<Fold_sum, T, 1>(values, s.source + edge, s.weight + edge, s.edge_start[k + 1] - edge,
                               finish, NeverStop());
  }
}

template <class T>
void sum_numbers(const ScheduleView<T>& s, NodeRun run, T* values) {
  with_activation(run.activation,
                  [&](auto activation) { sum_numbers_with<decltype(activation)>(s, run, values); });
}

EVONET_NAMESPACE_END
