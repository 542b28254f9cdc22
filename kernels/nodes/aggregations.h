// aggregations.h: how a node joins its weighted inputs x = w v, in link order, by the functions of
// functions.def. first starts a fold with link 0, next adds a link; T is a number or a vector type
// of the compiler. A NaN's bits are settled later, by the activation.
#pragma once

#include "nodes/function_ids.h"

EVONET_NAMESPACE_BEGIN

template <class T>
EVONET_FN T agg_sum_first(T w, T v) {
  return multiply_add(w, v, T{});
}
template <class T>
EVONET_FN T agg_sum_next(T acc, T w, T v) {
  return multiply_add(w, v, acc);
}

// Python starts at 1.0; multiplying by it changes nothing.
template <class T>
EVONET_FN T agg_product_first(T w, T v) {
  return w * v;
}
template <class T>
EVONET_FN T agg_product_next(T acc, T w, T v) {
  return acc * (w * v);
}

// A NaN compares false, so it stays if it comes first and is passed over later, as in Python.
template <class T>
EVONET_FN T agg_max_first(T w, T v) {
  return w * v;
}
template <class T>
EVONET_FN T agg_max_next(T acc, T w, T v) {
  return at_least(w * v, acc);
}

template <class T>
EVONET_FN T agg_min_first(T w, T v) {
  return w * v;
}
template <class T>
EVONET_FN T agg_min_next(T acc, T w, T v) {
  return at_most(w * v, acc);
}

template <class T>
EVONET_FN T agg_maxabs_first(T w, T v) {
  return w * v;
}
template <class T>
EVONET_FN T agg_maxabs_next(T acc, T w, T v) {
  T x = w * v;
  return magnitude(x) > magnitude(acc) ? x : acc;
}

// Each fold as a type, so that a loop knows its formula when it is compiled.
#define EVONET_FOLD(ID, name, formula)             \
  struct Fold_##name {                             \
    template <class T>                             \
    static EVONET_METHOD T first(T w, T v) {       \
      return agg_##name##_first(w, v);             \
    }                                              \
    template <class T>                             \
    static EVONET_METHOD T next(T acc, T w, T v) { \
      return agg_##name##_next(acc, w, v);         \
    }                                              \
  };
EVONET_FOLD(SUM, sum, )  // a mean begins as a sum, too
#include "nodes/functions.def"

// Turns a sum over count > 0 links into a mean where one is wanted; count comes as a T.
template <class T>
EVONET_FN T agg_finish(int aggregation, T acc, T count) {
  return aggregation == AGG_MEAN ? acc / count : acc;
}

template <class T>
EVONET_FN T agg_empty(int aggregation) {
  return aggregation == AGG_PRODUCT ? T(1) : T(0);
}

// What an activation gets.
template <class T>
EVONET_FN T preactivation(T bias, T response, T aggregate) {
  return multiply_add(response, aggregate, bias);
}

// Integers ordered as the numbers are, with -0 before +0, so that the median's bits do not depend
// on how it was found.
EVONET_FN int32 order_key(float x) { return to_bits(x) ^ ((to_bits(x) >> 31) & 0x7fffffff); }
EVONET_FN int64 order_key(double x) {
  return to_bits(x) ^ ((to_bits(x) >> 63) & 0x7fffffffffffffff);
}

// The number that has a key: the map is its own inverse.
template <class T>
EVONET_FN T from_order_key(Bits<T> key) {
  return from_bits<T>(order_key(from_bits<T>(key)));
}

// Moves the value at the root of a max-heap down to its place.
template <class T>
EVONET_FN void sift_down(T* heap, int root, int size) {
  T x = heap[root];
  for (int child; (child = 2 * root + 1) < size; root = child) {
    if (child + 1 < size && order_key(heap[child]) < order_key(heap[child + 1])) ++child;
    if (order_key(heap[child]) <= order_key(x)) break;
    heap[root] = heap[child];
  }
  heap[root] = x;
}

// The median of n > 0 numbers, in O(n log n) without recursion: a max-heap keeps the smaller half
// and the upper middle, its root; the lower middle is then the larger child of the root. With a
// NaN anywhere it is NaN (neat-python's answer would depend on its sort). Destroys x.
template <class T>
EVONET_FN T median_inplace(T* x, int n) {
  for (int i = 0; i < n; ++i) {
    if (x[i] != x[i]) return canonical(x[i]);
  }
  if (n <= 2) return canonical((T(0) + x[0] + (n == 2 ? x[1] : T(0))) / T(n));
  int size = n / 2 + 1;
  for (int root = size / 2; root-- > 0;) sift_down(x, root, size);
  for (int i = size; i < n; ++i) {
    if (order_key(x[i]) < order_key(x[0])) {
      x[0] = x[i];
      sift_down(x, 0, size);
    }
  }
  if (n % 2 == 1) return x[0];
  T lower = order_key(x[1]) < order_key(x[2]) ? x[2] : x[1];
  return canonical((lower + x[0]) / T(2));
}

// The key that has a rank, from 1, among those of n numbers; x(i) gives number i, as often as it is
// asked. It lies between low and high, which are keys of numbers themselves; a round counts the
// keys up to the middle and moves one end. It takes at most n rounds, and at most as many as a key
// has bits.
template <class T, class Numbers>
EVONET_FN Bits<T> key_of_rank(int n, int rank, Bits<T> low, Bits<T> high, Numbers x) {
  while (low < high) {
    const Bits<T> middle = (low & high) + ((low ^ high) >> 1);
    Bits<T> largest_below = low, smallest_above = high;
    int count = 0;
    for (int i = 0; i < n; ++i) {
      const Bits<T> key = order_key(x(i));
      if (key <= middle) {
        ++count;
        largest_below = key > largest_below ? key : largest_below;
      } else {
        smallest_above = key < smallest_above ? key : smallest_above;
      }
    }
    if (count >= rank)
      high = largest_below;
    else
      low = smallest_above;
  }
  return low;
}

// The same bits without memory to sort in, for a GPU's thread.
template <class T, class Numbers>
EVONET_FN T median_of(int n, Numbers x) {
  if (n <= 2) return canonical((T(0) + x(0) + (n == 2 ? x(1) : T(0))) / T(n));
  Bits<T> low = order_key(x(0)), high = low;
  for (int i = 0; i < n; ++i) {
    const T number = x(i);
    if (number != number) return canonical(number);
    const Bits<T> key = order_key(number);
    low = key < low ? key : low;
    high = key > high ? key : high;
  }
  const int rank = (n + 1) / 2;  // of the lower middle, from 1
  low = key_of_rank<T>(n, rank, low, high, x);
  const T lower = from_order_key<T>(low);
  if (n % 2 == 1) return lower;
  int count = 0;
  T upper = lower;
  bool found = false;
  for (int i = 0; i < n; ++i) {
    const T number = x(i);
    if (order_key(number) <= low) {
      ++count;
    } else if (!found || order_key(number) < order_key(upper)) {
      upper = number;
      found = true;
    }
  }
  return canonical((lower + (count > rank ? lower : upper)) / T(2));
}

EVONET_NAMESPACE_END
