// gradient.h: the derivatives of a front, from those of its features to those of its weights.
#pragma once

#include <cstdint>
#include <vector>

#include "native/gradient_call.h"
#include "native/images/front.h"
#include "native/thread_pool.h"

namespace evonet {

// Where the derivatives of a layer go: weights [O, kernel_height, kernel_width, C], biases [O].
template <class T>
struct LayerSlopes {
  T *weights, *bias;
};

// Images [B, C, H, W] and the derivatives of a loss by their features [B, O, H, W], or both with
// their channels last -> the derivatives by weights, and by images unless d_images is null. False
// if it was interrupted. Sample b goes to lane b % 32 of the tree of nodes/loss.h, and all pixels
// of a lane's samples are added in order.
template <class T>
bool differentiate_front(const Front<T>& front, const GradientKernels<T>& slopes, const T* images,
                         const T* adjoint, int64_t num_images, bool channels_last, int threads,
                         const Interrupt::Poll& poll, const std::vector<LayerSlopes<T>>& out,
                         T* d_images);

}  // namespace evonet
