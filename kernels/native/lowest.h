// lowest.h: searches rows of distances for small ones.
#pragma once

#include "genetics/standards.h"
#include "native/simd.h"

EVONET_NAMESPACE_BEGIN

// Whether any number is below its limit.
template <class T>
bool any_below(const T* numbers, const T* limits, int64_t count) {
  using V = Vector<T, kStandards>;
  constexpr int kCount = kLanes<T, kStandards>;
  int64_t i = 0;
  Bits<V> below{};
  for (; i + kCount <= count; i += kCount) {
    below |= load<V>(numbers + i) < load<V>(limits + i);
  }
  bool found = false;
  for (int k = 0; k < kCount; ++k) found |= below[k] != 0;
  for (; i < count; ++i) found |= numbers[i] < limits[i];
  return found;
}

// The position of the first of the smallest numbers, or -1 if none is below the limit.
template <class T>
int64_t first_least(const T* numbers, int64_t count, T limit) {
  using V = Vector<T, kStandards>;
  constexpr int kCount = kLanes<T, kStandards>;
  int64_t i = 0;
  V lowest = all<V>(limit);
  for (; i + kCount <= count; i += kCount) {
    const V some = load<V>(numbers + i);
    lowest = some < lowest ? some : lowest;
  }
  T least = limit;
  for (int k = 0; k < kCount; ++k) least = lowest[k] < least ? lowest[k] : least;
  for (; i < count; ++i) least = numbers[i] < least ? numbers[i] : least;
  if (!(least < limit)) return -1;
  int64_t at = 0;
  while (numbers[at] != least) ++at;
  return at;
}

EVONET_NAMESPACE_END
