// gradient_worker.h: what a worker thread needs to differentiate: its memory, and samples as rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "native/gradient_call.h"
#include "native/worker_memory.h"

namespace evonet {

// Samples [T, B, F] as rows [blocks, T, F, width] of the samples that `order` [count] names, or of
// all in order. Behind the last one it is repeated.
template <class T>
void pack_rows(const T* from, int64_t num_steps, int64_t num_samples, int64_t num_features,
               const int64_t* order, int64_t count, int width, T* to) {
  for (int64_t begin = 0; begin < count; begin += width) {
    for (int64_t t = 0; t < num_steps; ++t) {
      const T* const step = from + t * num_samples * num_features;
      for (int64_t f = 0; f < num_features; ++f, to += width) {
        for (int64_t b = 0; b < width; ++b) {
          const int64_t at = std::min(begin + b, count - 1);
          to[b] = step[(order == nullptr ? at : order[at]) * num_features + f];
        }
      }
    }
  }
}

// A whole number of blocks.
inline int64_t padded(int64_t count, int width) { return (count + width - 1) / width * width; }

// Owns what a GradientMemory points to.
template <class T>
class GradientWorker {
 public:
  struct Sizes {
    int64_t steps, slots, nodes, rows, genes, links, outputs, target_steps, inputs, own_samples;
    int width;
  };

  explicit GradientWorker(const Sizes& s)
      : arrays_(make(s)), memory_{}, own_samples_(std::max<int64_t>(1, s.own_samples)) {
    T** const to[] = {&memory_.values, &memory_.joined,     &memory_.rows,    &memory_.deltas,
                      &memory_.state,  &memory_.remembered, &memory_.outputs, &memory_.slopes,
                      &memory_.x_rows, &memory_.scratch,    &memory_.links,   &memory_.lanes,
                      &memory_.totals};
    for (size_t i = 0; i < arrays_.size(); ++i) *to[i] = arrays_[i].data();
  }

  GradientMemory<T>& memory() { return memory_; }
  T* own_samples() { return own_samples_.data(); }

 private:
  static std::vector<AlignedArray<T>> make(const Sizes& s) {
    constexpr int64_t kSpare = 64;  // genes: a vector of them is joined at once
    const int64_t counts[] = {s.steps * s.slots * s.width,
                              s.steps * s.nodes * s.width,
                              s.rows * s.width,
                              s.nodes * s.width,
                              s.nodes * s.width,
                              2 * s.nodes * s.width,
                              s.outputs * s.width,
                              s.target_steps * s.outputs * s.width,
                              s.inputs * s.width,
                              4 * s.width,
                              s.links,
                              (s.genes + kSpare) * kGradientLanes,
                              s.genes + kSpare};
    std::vector<AlignedArray<T>> arrays;
    for (const int64_t count : counts) arrays.emplace_back(count);
    return arrays;
  }

  std::vector<AlignedArray<T>> arrays_;
  GradientMemory<T> memory_;
  AlignedArray<T> own_samples_;
};

}  // namespace evonet
