// gradient.h: what a warp needs to take one genome forwards and back; lane l has the samples l,
// l + 32, ... and everything of its own: rows of 32 numbers, of which it sees one.
#pragma once

#include "cuda/cells.h"
#include "nodes/custom_slopes.h"
#include "nodes/derivatives.h"
#include "nodes/loss.h"

EVONET_NAMESPACE_BEGIN

// One lane of rows of 32 numbers.
template <class T>
struct LaneRows {
  T* first;

  EVONET_METHOD T& operator[](int64 row) const { return first[row * 32]; }
  EVONET_METHOD LaneRows from(int64 row) const { return {first + row * 32}; }
};

// The links of one node; `back` counts from its own slot, as node.h wants it.
template <class T>
struct PlainLinks {
  const int32* source;
  const T* weights;
  int32 slot;

  EVONET_METHOD int32 back(int32 i) const { return slot - source[i]; }
  EVONET_METHOD T weight(int32 i) const { return weights[i]; }
  EVONET_METHOD const PlainLinks& anywhere(int32) const { return *this; }

  template <class Visit>
  EVONET_METHOD void each(int32 count, Visit visit) const {
    EVONET_KEEP_LOOP
    for (int32 i = 0; i < count; ++i) visit(back(i), weight(i));
  }
  template <class Visit>
  EVONET_METHOD void one_by_one(int32 count, Visit visit) const {
    each(count, visit);
  }
};

// A number times the slope of an activation at z, where its value is y.
template <class T>
EVONET_FN T scaled_by_slope(int activation, T adjoint, T z, T y) {
  T slope = T(0);
  with_slope(activation, [&](auto by) { slope = decltype(by)::at(z, y); });
  if constexpr (kHasCustomActivations) {
    if (activation >= NUM_ACTIVATIONS) {
      with_custom_slope(activation, [&](auto by) { slope = by.apply(z); });
    }
  }
  return adjoint * slope;
}

// From the adjoint d of what n links gave to that of each link's product x(i), in rows;
// derivatives.h has the rules. Not for sums and means, whose links share one.
template <class T, class Numbers>
EVONET_FN void spread_adjoint(int aggregation, int n, Numbers x, T joined, T d, LaneRows<T> rows) {
  if constexpr (kHasCustomAggregations) {
    if (aggregation >= NUM_AGGREGATIONS) {
      terms_by_custom<T>(aggregation, n, x, [&](int i, T slope) { rows[i] = d * slope; });
      return;
    }
  }
  if (aggregation == AGG_PRODUCT) {
    T before = T(1), behind = T(1);
    EVONET_KEEP_LOOP
    for (int i = 0; i < n; ++i) {
      rows[i] = before;
      before = i == 0 ? x(i) : before * x(i);
    }
    EVONET_KEEP_LOOP
    for (int i = n; i-- > 0;) {
      rows[i] = d * (rows[i] * behind);
      behind = x(i) * behind;
    }
  } else if (aggregation == AGG_MEDIAN && n > 2) {
    EVONET_KEEP_LOOP
    for (int i = 0; i < n; ++i) rows[i] = T(0);
    const MedianLinks middle = median_links<T>(n, x);
    if (middle.lower < 0) return;
    const T part = d / T(n % 2 == 1 ? 1 : 2);
    rows[middle.lower] = part;
    rows[middle.upper] = part;
  } else if (aggregation == AGG_MEDIAN) {
    for (int i = 0; i < n; ++i) rows[i] = d / T(n);
  } else {
    T left = d;
    EVONET_KEEP_LOOP
    for (int i = 0; i < n; ++i) {
      const bool chosen = is_chosen(aggregation, x(i), joined);
      rows[i] = chosen ? left : T(0);
      left = chosen ? T(0) : left;
    }
  }
}

EVONET_NAMESPACE_END
