// convolve.h: a tile of a layer, in three steps: sums of windows, channels side by side in vectors;
// bias and activation; pooling. Sums stay in a scratch that fits into the first cache.
//
// A window's sum has two ways. Dense: some windows at a time, so that a weight is loaded once for
// all of them. Sparse: non-zeros only, each of which loads its weights, so that dense wins where
// less than about 40 to 60 % of the inputs are 0: ConvCost. Where windows have many non-zeros, all
// windows of a tile meet a slab of weights, about as many as fit into the first cache, before the
// next slab. (Adding each non-zero to all windows that see it, with sums in memory, was as fast for
// three channels and slower for more.)
#pragma once

#include <cstddef>

#include "images/convolution.h"
#include "native/function_rows.h"
#include "native/images/layer.h"
#include "native/simd.h"

EVONET_NAMESPACE_BEGIN

// Windows of a tile: at most so many, so that sums of a block fit into the first cache.
constexpr int kTilePixels = 96;
// Bytes of a slab of weights: more than the first cache holds beside sums, for half of the lines
// hit it anyway, and longer slabs end less often.
constexpr int64_t kSlabBytes = 48 << 10;
constexpr int64_t kSecondCache = 600 << 10;  // bytes of weights that surely stay in it
#if defined(__AVX512F__)
constexpr int kSumRegisters = 24;  // of 32
#else
constexpr int kSumRegisters = 12;  // of 16
#endif

template <class T>
void pack_row(const T* row, int width, int channels, T* value, int32_t* position, int32_t* start) {
  int32_t count = 0, at = 0;
  for (int x = 0; x < width; ++x) {
    start[x] = count;
    int c = 0;
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
      const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
      for (; c < channels; c += 16) {
        const int rest = channels - c < 16 ? channels - c : 16;
        const __mmask16 real = static_cast<__mmask16>((1u << rest) - 1);
        const __m512 v = _mm512_maskz_loadu_ps(real, row + at);
        const __mmask16 found = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NEQ_UQ);
        const __m512i here = _mm512_add_epi32(lanes, _mm512_set1_epi32(at));
        at += rest;
        // Rows have a vector of room behind them.
        _mm512_storeu_ps(value + count, _mm512_maskz_compress_ps(found, v));
        _mm512_storeu_si512(position + count, _mm512_maskz_compress_epi32(found, here));
        count += __builtin_popcount(found);
      }
    }
#endif
    for (; c < channels; ++c, ++at) {
      value[count] = row[at];
      position[count] = at;
      count += row[at] != T(0);
    }
  }
  start[width] = count;
}

// Adds the non-zeros of a window's rows [first, last) to its sum.
template <class T, int N>
EVONET_FN void add_sparse(const ConvLayer<T>& layer, const T* weights, const PackedMap<T>& map,
                          int top, int left, int first, int last, T* out) {
  using V = FullVector<T>;
  constexpr int kLane = kVectorLanes<T>, kBlock = N * kLane;
  const ConvShape& s = layer.shape;
  V sum[N] = {};
  if (first > 0) {
    for (int n = 0; n < N; ++n) sum[n] = load<V>(out + n * kLane);
  }
  for (int ky = first; ky < last; ++ky) {
    const int64_t row = top + ky;
    const int32_t* const start = map.start + row * (s.width + 1) + left;
    const T* const value = map.value + row * s.row_length();
    const int32_t* const position = map.position + row * s.row_length();
    const int64_t shift = int64_t{ky} * s.run_length() - int64_t{left} * s.channels;
    const int end = start[s.kernel_width];
    for (int i = start[0]; i < end; ++i) {
      const V x = broadcast<V>(value[i]);
      const T* const w = weights + (position[i] + shift) * kBlock;
      for (int n = 0; n < N; ++n) sum[n] = multiply_add(x, load<V>(w + n * kLane), sum[n]);
    }
  }
  for (int n = 0; n < N; ++n) store(out + n * kLane, sum[n]);
}

// Adds the non-zeros that meet the taps [begin, end) of row ky of all windows of a tile, whose
// weights stay in the first cache meanwhile. A window remembers in `next` how far it is in its row.
template <class T, int N>
EVONET_FN void add_slab(const ConvLayer<T>& layer, const T* weights, const PackedMap<T>& map,
                        ConvTile tile, int ky, int begin, int end, int32_t* next, T* out) {
  using V = FullVector<T>;
  constexpr int kLane = kVectorLanes<T>, kBlock = N * kLane;
  const ConvShape& s = layer.shape;
  const T* const row_weights = weights + int64_t{ky} * s.run_length() * kBlock;
  for (int y = tile.top; y < tile.bottom; ++y) {
    const int64_t row = int64_t{y} * s.stride + ky;
    const int32_t* const start = map.start + row * (s.width + 1);
    const T* const value = map.value + row * s.row_length();
    const int32_t* const position = map.position + row * s.row_length();
    for (int x = tile.left; x < tile.right; ++x, ++next, out += kBlock) {
      const int left = x * s.stride, last = start[left + s.kernel_width];
      const int shift = left * s.channels, limit = shift + end;
      int i = begin == 0 ? start[left] : *next;
      V sum[N] = {};
      if (ky > 0 || begin > 0) {
        for (int n = 0; n < N; ++n) sum[n] = load<V>(out + n * kLane);
      }
      const T* const from = row_weights - int64_t{shift} * kBlock;
      for (; i < last && position[i] < limit; ++i) {
        const V here = broadcast<V>(value[i]);
        const T* const w = from + int64_t{position[i]} * kBlock;
        for (int n = 0; n < N; ++n) sum[n] = multiply_add(here, load<V>(w + n * kLane), sum[n]);
      }
      for (int n = 0; n < N; ++n) store(out + n * kLane, sum[n]);
      *next = i;
    }
  }
}

// The sums of W windows, whose first pixels are given.
template <class T, int N, int W>
EVONET_FN void sum_dense(const ConvLayer<T>& layer, const T* weights, const T* const* windows,
                         T* out) {
  using V = FullVector<T>;
  constexpr int kLane = kVectorLanes<T>, kBlock = N * kLane;
  const ConvShape& s = layer.shape;
  const int run = s.run_length();
  V sum[W][N] = {};
  const T* x[W];
  for (int j = 0; j < W; ++j) x[j] = windows[j];
  const T* w = weights;
  for (int ky = 0; ky < s.kernel_height; ++ky) {
    for (int t = 0; t < run; ++t, w += kBlock) {
      V by[N];
      for (int n = 0; n < N; ++n) by[n] = load<V>(w + n * kLane);
      for (int j = 0; j < W; ++j) {
        const V here = broadcast<V>(x[j][t]);
        for (int n = 0; n < N; ++n) sum[j][n] = multiply_add(here, by[n], sum[j][n]);
      }
    }
    for (int j = 0; j < W; ++j) x[j] += s.row_length();
  }
  for (int j = 0; j < W; ++j) {
    for (int n = 0; n < N; ++n) store(out + j * kBlock + n * kLane, sum[j][n]);
  }
}

// Whether the processor multiplies two of its longest vectors at a time, as Intel's servers do, but
// loads no more than others from the second cache.
inline bool multiplies_twice() {
#if defined(__AVX512F__)
  static const bool is_intel = __builtin_cpu_is("intel");
  return is_intel;
#else
  return false;
#endif
}

// In multiplications of a weight vector by an input, as the dense way does them, where the sparse
// way also loads a weight for each; measured with AVX-512 on Zen 4 and on Cascade Lake.
struct ConvCost {
  // Of a non-zero, for all vectors of a block; the fewer they are, the more its own loads weigh.
  static float term(int vectors) {
    const float cost = vectors == 1 ? 2.5f : vectors == 2 ? 1.8f : 1.6f;
    return multiplies_twice() ? 1.6f * cost : cost;
  }
  static constexpr int kSlab = 6;         // non-zeros of a window that are worth a slab of weights
  static constexpr float kWindow = 12.f;  // of a window: mispredicted ends of its rows
};

// Sums of all windows of conv rows [top, bottom) and columns [left, right), row by row.
template <class T, int N>
__attribute__((noinline)) void sum_windows(const ConvLayer<T>& layer, const T* weights,
                                           const PackedMap<T>& map, ConvTile tile, ConvPath path,
                                           T* out, ConvCounts& counts) {
  constexpr int kBlock = N * kVectorLanes<T>, kGroup = kSumRegisters / N;
  const ConvShape& s = layer.shape;
  const int64_t count = int64_t{tile.bottom - tile.top} * (tile.right - tile.left);
  int64_t terms = count * s.num_taps();
  counts.all_terms += terms;
  if (path != ConvPath::kDense) {
    int64_t found = 0;
    for (int y = tile.top; y < tile.bottom; ++y) {
      for (int ky = 0; ky < s.kernel_height; ++ky) {
        const int32_t* const start = map.start + (int64_t{y} * s.stride + ky) * (s.width + 1);
        for (int x = tile.left; x < tile.right; ++x) {
          found += start[x * s.stride + s.kernel_width] - start[x * s.stride];
        }
      }
    }
    const float sparse = ConvCost::term(N) * float(found) + ConvCost::kWindow * float(count);
    if (path == ConvPath::kSparse || sparse < float(terms)) {
      counts.sparse_terms += found;
      const int slab = int(kSlabBytes / (kBlock * int64_t{sizeof(T)}));
      const int64_t slabs = int64_t{s.kernel_height} * ((s.run_length() + slab - 1) / slab);
      if (count <= kTilePixels && slabs > 1 && found >= ConvCost::kSlab * count * slabs) {
        int32_t next[kTilePixels];
        for (int ky = 0; ky < s.kernel_height; ++ky) {
          for (int begin = 0; begin < s.run_length(); begin += slab) {
            const int end = begin + slab < s.run_length() ? begin + slab : s.run_length();
            add_slab<T, N>(layer, weights, map, tile, ky, begin, end, next, out);
          }
        }
        return;
      }
      // Weights of as many rows of windows as fit into the second cache serve all windows of a
      // tile before the next ones.
      const int64_t row_bytes = int64_t{s.run_length()} * kBlock * int64_t{sizeof(T)};
      const int rows = kSecondCache / row_bytes > 1 ? int(kSecondCache / row_bytes) : 1;
      for (int first = 0; first < s.kernel_height; first += rows) {
        const int last = first + rows < s.kernel_height ? first + rows : s.kernel_height;
        T* to = out;
        for (int y = tile.top; y < tile.bottom; ++y) {
          for (int x = tile.left; x < tile.right; ++x, to += kBlock) {
            add_sparse<T, N>(layer, weights, map, y * s.stride, x * s.stride, first, last, to);
          }
        }
      }
      return;
    }
  }
  counts.dense_terms += terms;
  const T* windows[kGroup];
  int filled = 0;
  for (int y = tile.top; y < tile.bottom; ++y) {
    for (int x = tile.left; x < tile.right; ++x) {
      windows[filled++] =
          map.dense + int64_t{y} * s.stride * s.row_length() + int64_t{x} * s.stride * s.channels;
      if (filled < kGroup) continue;
      sum_dense<T, N, kGroup>(layer, weights, windows, out);
      out += kGroup * kBlock;
      filled = 0;
    }
  }
  for (int i = 0; i < filled; ++i) {
    sum_dense<T, N, 1>(layer, weights, windows + i, out + i * kBlock);
  }
}

// Adds the bias to the sums of count windows and applies the activation, in place.
template <class T>
__attribute__((noinline)) void activate_windows(const ConvLayer<T>& layer, const T* bias, T* sums,
                                                int64_t count) {
  using V = FullVector<T>;
  constexpr int kLane = kVectorLanes<T>;
  constexpr int64_t kMost = 512 / sizeof(T);  // as many as a custom function takes at a time
  for (int64_t i = 0; i < count; ++i) {
    T* const row = sums + i * layer.block;
    for (int n = 0; n < layer.block; n += kLane) {
      store(row + n, finish_sum(load<V>(row + n), load<V>(bias + n)));
    }
  }
  const int64_t numbers = count * layer.block;
  for (int64_t i = 0; i < numbers; i += kMost) {
    const int64_t rest = numbers - i;
    activate_row(layer.shape.activation, sums + i, static_cast<int>(rest < kMost ? rest : kMost));
  }
}

// Pools size x size pixels of `count` channels, `step` numbers from pixel to pixel, `width` pixels
// in a row.
template <class T>
EVONET_FN void pool_window(const ConvShape& s, const T* first, int width, int step, int count,
                           T* out) {
  using V = FullVector<T>;
  for (int n = 0; n < count; n += kVectorLanes<T>) {
    V joined = load<V>(first + n);
    for (int i = 1; i < s.pool_size * s.pool_size; ++i) {
      const int at = i / s.pool_size * width + i % s.pool_size;
      const V next = load<V>(first + int64_t{at} * step + n);
      joined = s.pool == kMaxPool ? pool_largest(joined, next) : joined + next;
    }
    if (s.pool == kAveragePool) joined = pool_mean(joined, T(s.pool_size * s.pool_size));
    store(out + n, joined);
  }
}

template <class T>
void convolve_tile(const ConvLayer<T>& layer, int block, const PackedMap<T>& map, ConvTile tile,
                   ConvPath path, T* scratch, const MapWriter<T>& out, ConvCounts& counts) {
  const ConvShape& s = layer.shape;
  const T* const weights = layer.weights + int64_t{block} * s.num_taps() * layer.block;
  const T* const bias = layer.bias + int64_t{block} * layer.block;
  const ConvTile windows{tile.top * s.pool_stride, (tile.bottom - 1) * s.pool_stride + s.pool_size,
                         tile.left * s.pool_stride, (tile.right - 1) * s.pool_stride + s.pool_size};
  const int width = windows.right - windows.left;
  switch (layer.block / kVectorLanes<T>) {
    case 1:
      sum_windows<T, 1>(layer, weights, map, windows, path, scratch, counts);
      break;
    case 2:
      sum_windows<T, 2>(layer, weights, map, windows, path, scratch, counts);
      break;
    default:
      sum_windows<T, 4>(layer, weights, map, windows, path, scratch, counts);
  }
  activate_windows(layer, bias, scratch, int64_t{windows.bottom - windows.top} * width);
  const int begin = block * layer.block;
  const int channels = s.num_outputs - begin < layer.block ? s.num_outputs - begin : layer.block;
  alignas(64) T pooled[4 * kVectorLanes<T>];
  for (int y = tile.top; y < tile.bottom; ++y) {
    for (int x = tile.left; x < tile.right; ++x) {
      const T* const first = scratch + (int64_t{y - tile.top} * s.pool_stride * width +
                                        int64_t{x - tile.left} * s.pool_stride) *
                                           layer.block;
      const T* from = first;
      if (s.pool != kNoPool) {
        pool_window(s, first, width, layer.block, layer.block, pooled);
        from = pooled;
      }
      T* const to = out.data + y * out.row_step + x * out.step + int64_t{begin} * out.channel_step;
      if (out.channel_step == 1 && channels == layer.block) {
        copy_row(to, from, channels);
      } else if (out.channel_step == 1) {
        __builtin_memcpy(to, from, sizeof(T) * static_cast<size_t>(channels));
      } else {
        for (int c = 0; c < channels; ++c) to[c * out.channel_step] = from[c];
      }
    }
  }
}

EVONET_NAMESPACE_END
