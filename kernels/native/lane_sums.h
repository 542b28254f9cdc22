// lane_sums.h: sums over samples by the tree of nodes/loss.h. Sample b goes to lane b % 32; a block
// of samples adds to all lanes at once, and the end joins the lanes.
#pragma once

#include <utility>

#include "native/gradient_call.h"
#include "native/simd.h"

EVONET_NAMESPACE_BEGIN

template <class T>
constexpr int kLaneVectors = kGradientLanes / kVectorLanes<T>;

// The samples of a block that count: full groups of 32, and some of one more.
struct UsedSamples {
  int groups, rest;
};

// Adds a row of R vectors to 32 lanes: term(r, sum) is sum plus vector r.
template <int R, class T, class Term>
EVONET_FN void add_whole_row(T* lanes, bool starts, Term term) {
  using V = FullVector<T>;
  constexpr int kCount = kVectorLanes<T>, L = kLaneVectors<T>;
#pragma GCC unroll 16
  for (int l = 0; l < L; ++l) {
    V sum = starts ? V{} : load<V>(lanes + l * kCount);
#pragma GCC unroll 16
    for (int r = l; r < R; r += L) sum = term(r, sum);
    store(lanes + l * kCount, sum);
  }
}

// The same for the samples that count.
template <int R, class T, class Term>
EVONET_FN void add_row(T* lanes, bool starts, UsedSamples used, Term term) {
  using V = FullVector<T>;
  constexpr int kCount = kVectorLanes<T>, L = kLaneVectors<T>;
  if (used.groups == R / L) return add_whole_row<R>(lanes, starts, term);
  T position[kCount];
  for (int i = 0; i < kCount; ++i) position[i] = T(i);
  for (int l = 0; l < L; ++l) {
    V sum = starts ? V{} : load<V>(lanes + l * kCount);
    for (int g = 0; g < used.groups; ++g) sum = term(g * L + l, sum);
    const V more = term(used.groups * L + l, sum);
    sum = load<V>(position) < broadcast<V>(T(used.rest - l * kCount)) ? more : sum;
    store(lanes + l * kCount, sum);
  }
}

// Of every block of 2 kHalf lanes in a, then in b, the first half or the second.
template <int kHalf, int kSecond, class V, int... I>
EVONET_FN V halves_of(V a, V b, std::integer_sequence<int, I...>) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
  return __builtin_shufflevector(a, b, (I / kHalf * 2 * kHalf + I % kHalf + kSecond * kHalf)...);
#define EVONET_HAS_SHUFFLE
#endif
#endif
#if !defined(EVONET_HAS_SHUFFLE)
  constexpr int kCount = sizeof...(I);
  V found;
  for (int i = 0; i < kCount; ++i) {
    const int at = i / kHalf * 2 * kHalf + i % kHalf + kSecond * kHalf;
    found[i] = at < kCount ? a[at] : b[at - kCount];
  }
  return found;
#endif
}

// Joins the lanes of `kCount` sums in vectors of their own to one vector that has them all.
template <int kHalf, class V>
EVONET_FN V join_vectors(V* sums) {
  constexpr int kCount = sizeof(V) / sizeof(Lane<V>);
  using Indices = std::make_integer_sequence<int, kCount>;
  constexpr int kLeft = 2 * kHalf;  // vectors
#pragma GCC unroll 16
  for (int i = 0; i < kLeft; i += 2) {
    sums[i / 2] = halves_of<kHalf, 0>(sums[i], sums[i + 1], Indices()) +
                  halves_of<kHalf, 1>(sums[i], sums[i + 1], Indices());
  }
  if constexpr (kHalf > 1)
    return join_vectors<kHalf / 2>(sums);
  else
    return sums[0];
}

// Adds the halves of a row of lanes until one vector has them all.
template <class V, int L>
EVONET_FN V fold_lanes(V* part) {
#pragma GCC unroll 4
  for (int half = L / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int l = 0; l < half; ++l) part[l] = part[l] + part[l + half];
  }
  return part[0];
}

// The sums of genes [begin, end) over a single row of terms each, of which the first `used` count:
// term(gene, at, sum) is sum plus the vector from sample `at` on. What adding to empty lanes and
// joining them would give.
template <bool kWhole, class T, class Term>
__attribute__((noinline)) void sum_rows(int64_t begin, int64_t end, int used, Term term,
                                        T* totals) {
  using V = FullVector<T>;
  constexpr int kCount = kVectorLanes<T>, L = kLaneVectors<T>;
  T position[kCount];
  for (int i = 0; i < kCount; ++i) position[i] = T(i);
  const V positions = load<V>(position);
  const auto join = [&](auto gene) {
    V sums[kCount];
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      V part[L];
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) {
        part[l] = term(gene(i), l * kCount, V{});
        if (!kWhole) part[l] = positions < broadcast<V>(T(used - l * kCount)) ? part[l] : V{};
      }
      sums[i] = fold_lanes<V, L>(part);
    }
    return canonical(join_vectors<kCount / 2>(sums));
  };
  for (; begin + kCount <= end; begin += kCount) {
    store(totals + begin, join([&](int i) { return begin + i; }));
  }
  if (begin == end) return;
  const V rest = join([&](int i) { return begin + i < end ? begin + i : end - 1; });
  for (int i = 0; begin + i < end; ++i) totals[begin + i] = rest[i];
}

// The sums of lanes [count, 32]; behind them the memory of a vector of more is read.
template <class T>
__attribute__((noinline)) void join_lanes(const T* lanes, int64_t count, T* totals) {
  using V = FullVector<T>;
  constexpr int kCount = kVectorLanes<T>, L = kLaneVectors<T>;
  for (int64_t begin = 0; begin < count; begin += kCount) {
    V sums[kCount];
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      const T* const lane = lanes + (begin + i) * kGradientLanes;
      V part[L];
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) part[l] = load<V>(lane + l * kCount);
      sums[i] = fold_lanes<V, L>(part);
    }
    const V joined = canonical(join_vectors<kCount / 2>(sums));
    if (begin + kCount <= count) {
      store(totals + begin, joined);
    } else {
      for (int i = 0; begin + i < count; ++i) totals[begin + i] = joined[i];
    }
  }
}

EVONET_NAMESPACE_END
