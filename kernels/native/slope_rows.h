// slope_rows.h: the formulas of derivatives.h and of losses on rows of numbers.
#pragma once

#include "native/function_rows.h"
#include "native/simd.h"
#include "nodes/derivatives.h"
#include "nodes/loss.h"

EVONET_NAMESPACE_BEGIN

// A node as its derivative needs it: joined [width] is what its links gave, and y its value.
template <class T>
struct NodeRow {
  const T *joined, *y;
  T bias, response;
};

// Turns the adjoints of a node's values, [width], into those of what its activation got.
template <class T>
using ScaleBySlope = void (*)(NodeRow<T> node, T* adjoint, int width);

template <class Slope, class T>
void scale_by(NodeRow<T> node, T* adjoint, int width) {
  using V = FullVector<T>;
  const V bias = broadcast<V>(node.bias), response = broadcast<V>(node.response);
  for (int i = 0; i < width; i += kVectorLanes<T>) {
    const V z = preactivation(bias, response, load<V>(node.joined + i));
    store(adjoint + i, load<V>(adjoint + i) * Slope::at(z, load<V>(node.y + i)));
  }
}

template <class T>
ScaleBySlope<T> slope_on_rows(int activation) {
  static constexpr ScaleBySlope<T> kSlopes[] = {
#define EVONET_ACTIVATION(ID, name, formula) &scale_by<Slope_##name, T>,
#include "nodes/functions.def"
  };
  return kSlopes[activation];
}

// Any activation, custom ones too; scratch is [width].
template <class T>
void scale_by_slope(int activation, NodeRow<T> node, T* adjoint, T* scratch, int width) {
  if (activation < NUM_ACTIVATIONS) return slope_on_rows<T>(activation)(node, adjoint, width);
  using V = FullVector<T>;
  const Program<T>* const slope = custom_activation_slope<T>(activation);
  if (slope == nullptr) return;
  const V bias = broadcast<V>(node.bias), response = broadcast<V>(node.response);
  for (int i = 0; i < width; i += kVectorLanes<T>) {
    store(scratch + i, preactivation(bias, response, load<V>(node.joined + i)));
  }
  activate_by(*slope, scratch, width);
  for (int i = 0; i < width; i += kVectorLanes<T>) {
    store(adjoint + i, load<V>(adjoint + i) * load<V>(scratch + i));
  }
}

// Adds the losses of `count` samples to lanes, and writes the slopes by each output, [O, width].
// Outputs and targets are [O, width].
template <class T>
__attribute__((noinline)) void add_block_losses(int loss, int num_outputs, const T* outputs,
                                                const T* targets, int width, int count,
                                                LossSum<T>* lanes, T* slopes) {
  using V = FullVector<T>;
  for (int i = 0; i < count; i += kVectorLanes<T>) {
    const auto output = [&](int o) { return load<V>(outputs + o * width + i); };
    const auto target = [&](int o) { return load<V>(targets + o * width + i); };
    const LossSum<V> more = sample_loss<V>(loss, num_outputs, output, target);
    for (int b = i; b < i + kVectorLanes<T> && b < count; ++b) {
      LossSum<T>& lane = lanes[b % kLossLanes];
      lane = add_losses(lane, LossSum<T>{more.sum[b - i], more.rest[b - i]});
    }
    loss_slopes<V>(loss, num_outputs, output, target,
                   [&](int o, V slope) { store(slopes + o * width + i, slope); });
  }
}

EVONET_NAMESPACE_END
