// memory.h: the memory of one worker.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#include "native/isa.h"

namespace evonet {

// Owns what a Workspace points to.
template <class T>
class Memory {
 public:
  Memory(int64_t num_values, int64_t num_links)
      : bytes_((static_cast<size_t>(num_values) * sizeof(T) + 2 * kAlign)),
        values_(::operator new(bytes_, std::align_val_t(kAlign))),
        links_(new T[num_links]) {}

  Workspace<T> workspace() { return {static_cast<T*>(values_.get()), links_.get()}; }

 private:
  struct Free {
    void operator()(void* p) const { ::operator delete(p, std::align_val_t(kAlign)); }
  };
  static constexpr size_t kAlign = 64;
  size_t bytes_;
  std::unique_ptr<void, Free> values_;
  std::unique_ptr<T[]> links_;
};

}  // namespace evonet
