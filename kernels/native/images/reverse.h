// reverse.h: one image on the way back through a layer: pooling, then windows. Slopes of
// activations are those of slope_rows.h.
//
// Behind a max pool and a relu most adjoints are 0. So a window is not a sum over outputs but is
// spread: each adjoint that is not 0, times a row of the window, goes to the gradients of its
// weights, and times a row of its weights, to the map. Rows lie side by side in memory and fill
// vectors. Pixels come in the order of memory and outputs in theirs, which fixes the order of every
// sum: that of a weight over pixels, that of a number of the map over pixels and outputs.
#pragma once

#include "images/convolution.h"
#include "native/function_rows.h"
#include "native/gradient_call.h"
#include "native/images/convolve.h"
#include "native/images/layer.h"
#include "native/simd.h"

EVONET_NAMESPACE_BEGIN

// Lanes of a vector that count: the first `rest` ones.
template <class T>
EVONET_FN auto first_lanes(int rest) {
  using V = FullVector<T>;
  V position;
  for (int i = 0; i < kVectorLanes<T>; ++i) position[i] = T(i);
  return position < broadcast<V>(T(rest));
}

template <class T>
void finish_windows(const ConvShape& s, const T* sums, T* values, T* pooled,
                    const MapWriter<T>& out) {
  using V = FullVector<T>;
  constexpr int64_t kMost = 512 / sizeof(T);  // as many as a custom function takes at a time
  const int64_t numbers = int64_t{s.conv_height} * s.conv_width * s.num_outputs;
  for (int64_t i = 0; i < numbers; i += kVectorLanes<T>) store(values + i, load<V>(sums + i));
  for (int64_t i = 0; i < numbers; i += kMost) {
    const int64_t rest = numbers - i;
    const int count = static_cast<int>(rest < kMost ? rest : kMost);
    constexpr int kLane = kVectorLanes<T>;
    activate_row(s.activation, values + i, (count + kLane - 1) / kLane * kLane);
  }
  for (int y = 0; y < s.out_height; ++y) {
    for (int x = 0; x < s.out_width; ++x) {
      const T* from =
          values + (int64_t{y} * s.pool_stride * s.conv_width + x * s.pool_stride) * s.num_outputs;
      if (s.pool != kNoPool) {
        pool_window(s, from, s.conv_width, s.num_outputs, s.num_outputs, pooled);
        from = pooled;
      }
      T* const to = out.data + y * out.row_step + x * out.step;
      for (int c = 0; c < s.num_outputs; ++c) to[c * out.channel_step] = from[c];
    }
  }
}

// Adds the adjoint d [O] of one pool to those of its pixels.
template <class T>
EVONET_FN void unpool_window(const ConvShape& s, const T* values, const T* d, T* adjoint) {
  using V = FullVector<T>;
  const int pixels = s.pool_size * s.pool_size;
  const auto place = [&](int i) {
    return (int64_t{i / s.pool_size} * s.conv_width + i % s.pool_size) * s.num_outputs;
  };
  for (int n = 0; n < s.num_outputs; n += kVectorLanes<T>) {
    const auto counts = first_lanes<T>(s.num_outputs - n);
    V more = load<V>(d + n), chosen = {};
    if (s.pool == kAveragePool) {
      more = unpool_mean(more, T(pixels));
    } else {
      V largest = load<V>(values + n);
      for (int i = 1; i < pixels; ++i) {
        const V next = load<V>(values + place(i) + n);
        chosen = next > largest ? broadcast<V>(T(i)) : chosen;
        largest = pool_largest(largest, next);
      }
    }
    for (int i = 0; i < pixels; ++i) {
      T* const to = adjoint + place(i) + n;
      const V before = load<V>(to), after = before + more;
      const auto gets = s.pool == kAveragePool ? counts : counts & (chosen == broadcast<V>(T(i)));
      store(to, gets ? after : before);
    }
  }
}

template <class T>
void unpool_windows(const ConvShape& s, const T* values, const MapWriter<const T>& from, T* adjoint,
                    T* scratch) {
  using V = FullVector<T>;
  const int64_t numbers = int64_t{s.conv_height} * s.conv_width * s.num_outputs;
  if (s.pool != kNoPool) {
    for (int64_t i = 0; i < numbers; i += kVectorLanes<T>) store(adjoint + i, V{});
  }
  for (int y = 0; y < s.out_height; ++y) {
    for (int x = 0; x < s.out_width; ++x) {
      const T* const d = from.data + y * from.row_step + x * from.step;
      const int64_t at =
          (int64_t{y} * s.pool_stride * s.conv_width + x * s.pool_stride) * s.num_outputs;
      T* const to = s.pool == kNoPool ? adjoint + at : scratch;
      for (int c = 0; c < s.num_outputs; ++c) to[c] = d[c * from.channel_step];
      if (s.pool != kNoPool) unpool_window(s, values + at, to, adjoint + at);
    }
  }
}

// The non-zero adjoints of one pixel, and where the rows of their weights begin.
template <class T>
struct PixelAdjoints {
  const T* value;
  const int64_t* offset;
  int count;
};

// One row of one window: input numbers x -> sums d_weights.
template <class T>
EVONET_FN void add_row_slopes(const PixelAdjoints<T>& pixel, const T* x, int run, T* d_weights) {
  using V = FullVector<T>;
  for (int t = 0; t < run; t += kVectorLanes<T>) {
    const V input = load<V>(x + t);
    for (int i = 0; i < pixel.count; ++i) {
      T* const to = d_weights + pixel.offset[i] + t;
      store(to, add_slope(broadcast<V>(pixel.value[i]), input, load<V>(to)));
    }
  }
}

// Weights -> the adjoints of a row of the window.
template <class T>
EVONET_FN void spread_row(const PixelAdjoints<T>& pixel, const T* weights, int run, T* d_map) {
  using V = FullVector<T>;
  constexpr int kLane = kVectorLanes<T>;
  int t = 0;
  for (; t + 2 * kLane <= run; t += 2 * kLane) {
    V a = load<V>(d_map + t), b = load<V>(d_map + t + kLane);
    for (int i = 0; i < pixel.count; ++i) {
      const T* const w = weights + pixel.offset[i] + t;
      const V by = broadcast<V>(pixel.value[i]);
      a = multiply_add(by, load<V>(w), a);
      b = multiply_add(by, load<V>(w + kLane), b);
    }
    store(d_map + t, a);
    store(d_map + t + kLane, b);
  }
  for (; t < run; t += kLane) {
    const V before = load<V>(d_map + t);
    V sum = before;
    for (int i = 0; i < pixel.count; ++i) {
      sum = multiply_add(broadcast<V>(pixel.value[i]), load<V>(weights + pixel.offset[i] + t), sum);
    }
    store(d_map + t, first_lanes<T>(run - t) ? sum : before);
  }
}

template <class T>
void reverse_windows(const ConvShape& s, const ConvReverse<T>& image) {
  const int64_t per_output = s.kernel_height * image.row_step;
  for (int y = 0; y < s.conv_height; ++y) {
    pack_row(image.adjoint + int64_t{y} * s.conv_width * s.num_outputs, s.conv_width, s.num_outputs,
             image.value, image.position, image.packed_start);
    for (int x = 0; x < s.conv_width; ++x) {
      const int first = image.packed_start[x], count = image.packed_start[x + 1] - first;
      if (count == 0) continue;
      const PixelAdjoints<T> pixel{image.value + first, image.offset, count};
      for (int i = 0; i < count; ++i) {
        const int64_t output = image.position[first + i] - x * s.num_outputs;
        image.offset[i] = output * per_output;
        image.d_bias[output] += pixel.value[i];
      }
      const int left = x * s.stride;
      for (int ky = 0; ky < s.kernel_height; ++ky) {
        const int64_t row = int64_t{y} * s.stride + ky;
        const int64_t at = row * s.row_length() + int64_t{left} * s.channels;
        const int32_t* const start = image.start + row * (s.width + 1) + left;
        if (start[0] < start[s.kernel_width]) {
          add_row_slopes(pixel, image.map + at, s.run_length(),
                         image.d_weights + ky * image.row_step);
        }
        if (image.d_map != nullptr) {
          spread_row(pixel, image.weights + ky * image.row_step, s.run_length(), image.d_map + at);
        }
      }
    }
  }
}

template <class T>
void join_sums(T* lanes, int64_t num_lanes, int64_t count) {
  for (int64_t half = kGradientLanes / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l < half && l + half < num_lanes; ++l) {
      T *const to = lanes + l * count, *const from = lanes + (l + half) * count;
      for (int64_t i = 0; i < count; ++i) to[i] = to[i] + from[i];
    }
  }
  for (int64_t i = 0; i < count; ++i) lanes[i] = finish_slope(lanes[i]);
}

EVONET_NAMESPACE_END
