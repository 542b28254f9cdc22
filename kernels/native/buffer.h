// buffer.h: memory that is not touched before it is filled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace evonet {

// Asks for large pages in memory that is at least this large: genomes are read in any order, and
// with small pages finding where one lies takes longer than reading it.
constexpr int64_t kLargeMemory = int64_t{4} << 20;

inline void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] int64_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t kPage = 4096;
  const auto begin = (reinterpret_cast<uintptr_t>(memory) + kPage - 1) / kPage * kPage;
  const auto end = (reinterpret_cast<uintptr_t>(memory) + bytes) / kPage * kPage;
  // Where the system has none, or pages of another size, it refuses, and nothing is lost.
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

template <class E>
struct Buffer {
  std::unique_ptr<E[]> data;
  int64_t size = 0;

  Buffer() = default;
  explicit Buffer(int64_t size) : data(new E[size]), size(size) {
    const auto bytes = size * static_cast<int64_t>(sizeof(E));
    if (bytes >= kLargeMemory) prefer_large_pages(data.get(), bytes);
  }
};

// Copies the first `count` elements to position `at`.
template <class E>
void copy_into(Buffer<E>& out, int64_t at, const Buffer<E>& from, int64_t count) {
  std::copy(from.data.get(), from.data.get() + count, out.data.get() + at);
}

}  // namespace evonet
