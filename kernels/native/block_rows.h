// block_rows.h: nodes that share their links, over a tile of samples. A row of values is loaded
// once for up to eight nodes and a weight once for a row of vectors, so that multiply-adds and not
// loads are what the loop waits for.
#pragma once

#include "native/links.h"
#include "native/node_blocks_view.h"

EVONET_NAMESPACE_BEGIN

// Vectors in a row of a tile.
#if defined(EVONET_SLOW_FMA)
constexpr int kTileVectors = 1;
#else
constexpr int kTileVectors = 4;
#endif

template <class T>
constexpr int kTileWidth = kTileVectors * kVectorLanes<T>;

// N nodes, R vectors at a time: N times R accumulators must stay in registers.
template <class T, int N, int R>
__attribute__((noinline)) void sum_block(const ScheduleView<T>& s, const NodeBlock& block,
                                         const int64_t* node, const T* weights, T* values) {
  using V = FullVector<T>;
  constexpr int kCount = kVectorLanes<T>, W = kTileWidth<T>;
  const int32_t* const source = s.source + block.source;
  for (int at = 0; at < W; at += R * kCount) {
    V sum[N][R] = {};  // starting at 0 is starting with the first link
    const T* weight = weights;
    for (int32_t e = 0; e < block.num_links; ++e, weight += N) {
      const T* const row = values + int64_t{source[e]} * W + at;
      V v[R];
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) v[r] = load<V>(row + r * kCount);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) {
        const V w = broadcast<V>(weight[n]);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) sum[n][r] = agg_sum_next(sum[n][r], w, v[r]);
      }
    }
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      const V bias = broadcast<V>(s.bias[node[n]]), response = broadcast<V>(s.response[node[n]]);
      T* const row = values + int64_t{s.slot[node[n]]} * W + at;
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        store(row + r * kCount, preactivation(bias, response, sum[n][r]));
      }
    }
  }
  for (int n = 0; n < N; ++n) {
    activate_row<T>(block.activation, values + int64_t{s.slot[node[n]]} * W, W);
  }
}

// One segment on one tile, values [slots, kTileWidth]; false if it was interrupted.
template <class T>
bool run_segment(const ScheduleView<T>& s, const NodeBlocksView<T>& view, int64_t segment,
                 T* values, T* scratch, Interrupt& interrupt) {
  const auto& rows = rows_for<T>(kTileWidth<T>);
  int64_t patience = patience_of(kTileWidth<T>);
  for (int64_t i = view.segment[segment]; i < view.segment[segment + 1]; ++i) {
    const NodeBlock& block = view.block[i];
    const int64_t* const node = view.node + block.first;
    const T* const packed = view.weight + block.weight;
    switch (block.num_nodes) {
      case 8:
        sum_block<T, 8, kTileVectors / 2 + kTileVectors % 2>(s, block, node, packed, values);
        break;
      case 4:
        sum_block<T, 4, kTileVectors>(s, block, node, packed, values);
        break;
      case 2:
        sum_block<T, 2, kTileVectors>(s, block, node, packed, values);
        break;
      case 1:
        sum_block<T, 1, kTileVectors>(s, block, node, s.weight + block.weight, values);
        break;
      default:
        rows.join(s, {block.first, block.end, block.activation, s.aggregation[block.first]}, values,
                  scratch, interrupt);
    }
    patience -= int64_t{block.num_links} * block.num_nodes + 8;
    if (patience < 0) {
      if (interrupt.requested()) return false;
      patience = patience_of(kTileWidth<T>);
    }
  }
  return true;
}

// Which of a tile's samples have a value other than +0 in any of `count` slots:
// is_set [kTileWidth].
template <class T>
void find_bits(const T* values, const int32_t* slot, int64_t count, bool* is_set) {
  Bits<T> found[kTileWidth<T>] = {};
  for (int64_t i = 0; i < count; ++i) {
    const T* const row = values + int64_t{slot[i]} * kTileWidth<T>;
    for (int b = 0; b < kTileWidth<T>; ++b) found[b] |= to_bits(row[b]);
  }
  for (int b = 0; b < kTileWidth<T>; ++b) is_set[b] = found[b] != 0;
}

EVONET_NAMESPACE_END
