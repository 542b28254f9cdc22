// memory.h: memcpy and memset inside kernels. The compiler does not instrument them, so in checked
// mode they report their ranges themselves. Also what a shared variable's elements are.
#pragma once

#include "keywords.h"

using size_t = __SIZE_TYPE__;
using ptrdiff_t = __PTRDIFF_TYPE__;

extern "C" {
void* memcpy(void* to, const void* from, size_t size) noexcept;
void* memset(void* to, int value, size_t size) noexcept;
}

#ifdef SIMT_CHECKED
extern "C" {
void __tsan_read_range(void* address, size_t size);
void __tsan_write_range(void* address, size_t size);
}

namespace simt {

// The type of the elements of an array of any number of dimensions.
template <class T>
struct ElementOf {
  using type = T;
};
template <class T, size_t size>
struct ElementOf<T[size]> : ElementOf<T> {};
template <class T>
using Element = typename ElementOf<T>::type;

__forceinline__ void* copy(void* to, const void* from, size_t size) {
  __tsan_read_range(const_cast<void*>(from), size);
  __tsan_write_range(to, size);
  return memcpy(to, from, size);
}
__forceinline__ void* fill(void* to, int value, size_t size) {
  __tsan_write_range(to, size);
  return memset(to, value, size);
}

}  // namespace simt

#define memcpy simt::copy
#define memset simt::fill
#endif
