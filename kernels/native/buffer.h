// buffer.h: memory that is not touched before it is filled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

namespace evonet {

template <class E>
struct Buffer {
  std::unique_ptr<E[]> data;
  int64_t size = 0;

  Buffer() = default;
  explicit Buffer(int64_t size) : data(new E[size]), size(size) {}
};

// Copies the first `count` elements to position `at`.
template <class E>
void copy_into(Buffer<E>& out, int64_t at, const Buffer<E>& from, int64_t count) {
  std::copy(from.data.get(), from.data.get() + count, out.data.get() + at);
}

}  // namespace evonet
