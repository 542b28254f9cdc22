// image.h: where a compiled module lies in memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {

class Image {
 public:
  // The module that contains this code or data.
  explicit Image(const void* inside);

  bool contains(uintptr_t address) const { return address - begin_ < end_ - begin_; }
  uintptr_t base() const { return base_; }

  // The calling OS thread's copy of the module's thread-local variables, which are its __shared__
  // variables.
  char* thread_locals() const;
  size_t thread_locals_size() const { return tls_size_; }

 private:
  uintptr_t base_ = 0, begin_ = 0, end_ = 0;
  size_t tls_module_ = 0, tls_size_ = 0;
};

}  // namespace simt
