// spread_rows.h: how a node's adjoint reaches its links where each has its own; derivatives.h has
// the rules.
#pragma once

#include "native/kept_forward.h"
#include "nodes/derivatives.h"

EVONET_NAMESPACE_BEGIN

// From d [width] to rows [count, width]; joined is what the links gave.
template <class T>
__attribute__((noinline)) void spread_rows(int aggregation, const LinkRows<T>& links,
                                           const T* joined, const T* d, T* rows) {
  using V = FullVector<T>;
  constexpr int kCount = kVectorLanes<T>;
  const int64_t n = links.count;
  const int width = links.width;
  if (aggregation >= NUM_AGGREGATIONS) {
    const auto never = [](void*) { return false; };
    if (const Program<T>* slope = custom_aggregation_slope<T>(aggregation)) {
      terms_by<T>(*slope, links.values, links.source, links.weight, n, width, rows, never, nullptr);
    }
    for (int64_t e = 0; e < n; ++e) {
      for (int at = 0; at < width; at += kCount) {
        T* const row = rows + e * width + at;
        store(row, load<V>(d + at) * load<V>(row));
      }
    }
  } else if (aggregation == AGG_PRODUCT) {
    for (int at = 0; at < width; at += kCount) {
      V before = broadcast<V>(T(1)), behind = before;
      for (int64_t e = 0; e < n; ++e) {
        store(rows + e * width + at, before);
        const V x = links.template x<V>(e, at);
        before = e == 0 ? x : before * x;
      }
      const V adjoint = load<V>(d + at);
      for (int64_t e = n; e-- > 0;) {
        T* const row = rows + e * width + at;
        store(row, adjoint * (load<V>(row) * behind));
        behind = links.template x<V>(e, at) * behind;
      }
    }
  } else if (aggregation == AGG_MEDIAN && n > 2) {
    for (int64_t i = 0; i < n * width; ++i) rows[i] = T(0);
    for (int at = 0; at < width; ++at) {
      const auto x = [&](int e) { return links.template x<T>(e, at); };
      const MedianLinks middle = median_links<T>(static_cast<int>(n), x);
      if (middle.lower < 0) continue;
      const T part = d[at] / T(n % 2 == 1 ? 1 : 2);
      rows[int64_t{middle.lower} * width + at] = part;
      rows[int64_t{middle.upper} * width + at] = part;
    }
  } else if (aggregation == AGG_MEDIAN) {
    for (int64_t e = 0; e < n; ++e) {
      for (int at = 0; at < width; at += kCount) {
        store(rows + e * width + at, load<V>(d + at) / broadcast<V>(T(n)));
      }
    }
  } else {
    for (int at = 0; at < width; at += kCount) {
      V left = load<V>(d + at);
      const V found = load<V>(joined + at);
      for (int64_t e = 0; e < n; ++e) {
        const auto chosen = is_chosen(aggregation, links.template x<V>(e, at), found);
        store(rows + e * width + at, chosen ? left : V{});
        left = chosen ? V{} : left;
      }
    }
  }
}

EVONET_NAMESPACE_END
