// sample_blocks.h: cuts B samples into blocks that the SIMD kernels have a width for.
#pragma once

#include <cstdint>

#include "native/isa/isa.h"

namespace evonet {

// Full blocks of one width, then at most one narrower block for the rest.
class SampleBlocks {
 public:
  SampleBlocks(int64_t num_samples, int64_t max_slots, size_t value_bytes, int vector_width,
               int max_width)
      : num_samples_(num_samples), vector_width_(vector_width), width_(max_width) {
    // All slots of a block should stay in the second-level cache.
    while (width_ > 16 && max_slots * width_ * static_cast<int64_t>(value_bytes) > kCacheBytes) {
      width_ /= 2;
    }
    width_ = narrowest(num_samples);
    count_ = (num_samples + width_ - 1) / width_;
  }

  int64_t count() const { return count_; }
  int max_width() const { return width_; }
  int64_t padded_samples() const { return count_ * width_; }

  SampleBlock operator[](int64_t block) const {
    const int64_t begin = block * width_;
    return {begin, narrowest(num_samples_ - begin)};
  }

 private:
  static constexpr int64_t kCacheBytes = 512 * 1024;

  // The narrowest width that holds so many samples, or the widest allowed.
  int narrowest(int64_t num_samples) const {
    if (num_samples <= 1) return 1;
    int width = vector_width_;
    while (width < num_samples && width < width_) width *= 2;
    return width;
  }

  int64_t num_samples_;
  int64_t count_;
  int vector_width_, width_;
};

}  // namespace evonet
