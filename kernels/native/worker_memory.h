// worker_memory.h: the memory of one worker thread.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <new>

#include "native/isa/isa.h"

namespace evonet {

// Room for `count` elements and a vector behind them, aligned for vectors.
template <class E>
class AlignedArray {
 public:
  explicit AlignedArray(int64_t count)
      : data_(::operator new(num_bytes(count), std::align_val_t(kAlign))) {}

  E* data() const { return static_cast<E*>(data_.get()); }

 private:
  static size_t num_bytes(int64_t count) {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 2 / int64_t{sizeof(E)};
    if (count < 0 || count > kMost) throw std::bad_array_new_length();
    return static_cast<size_t>(count) * sizeof(E) + 2 * kAlign;
  }

  struct Free {
    void operator()(void* p) const { ::operator delete(p, std::align_val_t(kAlign)); }
  };
  static constexpr size_t kAlign = 64;
  std::unique_ptr<void, Free> data_;
};

// Owns what a Workspace points to.
template <class T>
class WorkerMemory {
 public:
  WorkerMemory(int64_t num_values, int64_t num_links)
      : values_(num_values), links_(new T[num_links]) {}

  Workspace<T> workspace() { return {values_.data(), links_.get()}; }

 private:
  AlignedArray<T> values_;
  std::unique_ptr<T[]> links_;
};

}  // namespace evonet
