// slope_rows.h: the formulas of derivatives.h and of losses on rows of numbers.
#pragma once

#include "native/function_rows.h"
#include "native/simd.h"
#include "nodes/derivatives.h"
#include "nodes/loss.h"

EVONET_NAMESPACE_BEGIN

// Consecutive nodes with one activation. Row k of joined is what the links of node k gave, and row
// slot[k] of values its value.
template <class T>
struct NodeRows {
  const T *joined, *values;
  const int32_t* slot;
  const T *bias, *response;
  int64_t count;
  int width;
};

// Writes the slopes of the nodes' activations, [count, width].
template <class T>
using WriteSlopes = void (*)(const NodeRows<T>& nodes, T* slopes);

template <class Slope, class T>
void write_slopes(const NodeRows<T>& nodes, T* slopes) {
  using V = FullVector<T>;
  const int width = nodes.width;
  const T* joined = nodes.joined;
  for (int64_t k = 0; k < nodes.count; ++k, joined += width, slopes += width) {
    const T* const y = nodes.values + int64_t{nodes.slot[k]} * width;
    const V bias = broadcast<V>(nodes.bias[k]), response = broadcast<V>(nodes.response[k]);
    for (int i = 0; i < width; i += kVectorLanes<T>) {
      const V z = preactivation(bias, response, load<V>(joined + i));
      store(slopes + i, Slope::at(z, load<V>(y + i)));
    }
  }
}

template <class T>
WriteSlopes<T> slope_on_rows(int activation) {
  static constexpr WriteSlopes<T> kSlopes[] = {
#define EVONET_ACTIVATION(ID, name, formula) &write_slopes<Slope_##name, T>,
#include "nodes/functions.def"
  };
  return kSlopes[activation];
}

// Any activation, custom ones too.
template <class T>
void slopes_of(int activation, const NodeRows<T>& nodes, T* slopes) {
  if (activation < NUM_ACTIVATIONS) return slope_on_rows<T>(activation)(nodes, slopes);
  using V = FullVector<T>;
  const Program<T>* const slope = custom_activation_slope<T>(activation);
  if (slope == nullptr) return;
  const int width = nodes.width;
  const T* joined = nodes.joined;
  for (int64_t k = 0; k < nodes.count; ++k, joined += width, slopes += width) {
    const V bias = broadcast<V>(nodes.bias[k]), response = broadcast<V>(nodes.response[k]);
    for (int i = 0; i < width; i += kVectorLanes<T>) {
      store(slopes + i, preactivation(bias, response, load<V>(joined + i)));
    }
    activate_by(*slope, slopes, width);
  }
}

// Numbers of one activation, one after the other, as `GradientKernels` takes them.
template <class T>
void scale_numbers(int activation, const T* z, const T* y, T* adjoint, int64_t count) {
  constexpr int kMost = 512 / sizeof(T);  // as many as a custom function takes at a time
  constexpr int kLane = kVectorLanes<T>;
  const int32_t slot = 0;
  const T bias = T(0), response = T(1);
  T slopes[kMost];
  for (int64_t i = 0; i < count; i += kMost) {
    const int rest = count - i < kMost ? static_cast<int>(count - i) : kMost;
    const int width = (rest + kLane - 1) / kLane * kLane;
    slopes_of(activation, NodeRows<T>{z + i, y + i, &slot, &bias, &response, 1, width}, slopes);
    for (int k = 0; k < width; k += kLane) {
      store(adjoint + i + k,
            load<FullVector<T>>(adjoint + i + k) * load<FullVector<T>>(slopes + k));
    }
  }
}

// Sums of losses and their rests, a lane each.
template <class T>
struct LossLanes {
  T sum[kLossLanes], rest[kLossLanes];
};

// Adds the losses of `count` samples to lanes, and writes the slopes by each output, [O, width].
// Outputs and targets are [O, width].
template <class T>
__attribute__((noinline)) void add_block_losses(int loss, int num_outputs, const T* outputs,
                                                const T* targets, int width, int count,
                                                LossLanes<T>& lanes, T* slopes) {
  using V = FullVector<T>;
  for (int i = 0; i < count; i += kVectorLanes<T>) {
    const auto output = [&](int o) { return load<V>(outputs + o * width + i); };
    const auto target = [&](int o) { return load<V>(targets + o * width + i); };
    const LossSum<V> more = sample_loss<V>(loss, num_outputs, output, target);
    T *const sum = lanes.sum + i % kLossLanes, *const rest = lanes.rest + i % kLossLanes;
    const LossSum<V> total = add_losses(LossSum<V>{load<V>(sum), load<V>(rest)}, more);
    if (i + kVectorLanes<T> <= count) {
      store(sum, total.sum);
      store(rest, total.rest);
    } else {
      for (int b = 0; i + b < count; ++b) {
        sum[b] = total.sum[b];
        rest[b] = total.rest[b];
      }
    }
    loss_slopes<V>(loss, num_outputs, output, target,
                   [&](int o, V slope) { store(slopes + o * width + i, slope); });
  }
}

EVONET_NAMESPACE_END
