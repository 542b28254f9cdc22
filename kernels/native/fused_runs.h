// fused_runs.h: runs of nodes that sum, with the activation in the same loop. A call per node would
// cost as much as some links, so it pays where rows are short. Every function for every width would
// be most of what there is to compile: single numbers have them all, vectors the commonest, and the
// others are called, by sum_run. This compiles where the formulas do.
#pragma once

#include "native/links.h"
#include "nodes/dispatch.h"

EVONET_NAMESPACE_BEGIN

template <class Activation, class V, int R, class T>
__attribute__((noinline)) void sum_run_with(const ScheduleView<T>& s, NodeRun run, T* values) {
  sum_nodes<V, R>(s, run, values, [](V z) { return Activation::apply(z); }, [](T*) {});
}

template <class T>
void sum_numbers(const ScheduleView<T>& s, NodeRun run, T* values) {
  with_activation(run.activation, [&](auto activation) {
    sum_run_with<decltype(activation), T, 1>(s, run, values);
  });
}

// Sigmoid and tanh divide, which takes as long as many links: in the same loop the processor
// divides for one node while it sums for the next. Others are called beside rows of more than
// kMostFused.
template <class T, int R>
void sum_vectors(const ScheduleView<T>& s, NodeRun run, T* values) {
  using V = FullVector<T>;
  switch (run.activation) {
    case ACT_SIGMOID:
      return sum_run_with<Activation_sigmoid, V, R>(s, run, values);
    case ACT_TANH:
      return sum_run_with<Activation_tanh, V, R>(s, run, values);
    default:
      break;
  }
  if constexpr (R <= kMostFused) {
    if (run.activation == ACT_RELU) return sum_run_with<Activation_relu, V, R>(s, run, values);
    if (run.activation == ACT_IDENTITY) {
      return sum_run_with<Activation_identity, V, R>(s, run, values);
    }
  }
  return sum_run<V, R>(s, run, values);
}

EVONET_NAMESPACE_END
