// convolve.cu: one layer of a front for images: convolution, bias, activation and pooling, in one
// pass over a tile of an image's outputs and some of their channels.
//
// A block has a tile. It packs the non-zeros of the pixels below it into shared memory, and its
// teams of threads add up windows: a thread has VECTOR channels, a team all channels of the block,
// and every team one window at a time. A non-zero is read once per team and meets VECTOR weights,
// which lie side by side. A tile of few zeros is added up densely instead: some windows at a time
// share each weight.
//
// Pixels that do not fit are packed part by part, in the order of the sum; sums stay in shared
// memory meanwhile. Pools with more windows than fit are folded group by group, row by row. So no
// size is too large. The bits depend on none of this: see images/convolution.h.
//
// counts has three numbers for each layer: non-zeros of its input, and terms that were computed
// sparsely and densely; the non-zeros that are written here are those of the next layer.
//
// REAL: float or double. VECTOR: channels of a thread.
#include "cuda/conv_patch.h"
#include "images/convolution.h"
#include "nodes/custom_functions.h"
#include "nodes/dispatch.h"
#include "nodes/node.h"

using namespace evonet;

constexpr int kThreads = 128, kWarps = kThreads / 32;
// Blocks whose registers an SM must have room for, as many as do without spills.
#if __CUDA_ARCH__ < 1000
constexpr int kLeastBlocks = sizeof(REAL) == 4 ? 5 : 3;
#else
constexpr int kLeastBlocks = sizeof(REAL) == 4 ? 4 : 3;
#endif
constexpr int kDenseWindows = 4;

enum Path : int { kAuto, kSparse, kDense };

// Cycles in which the first-level cache serves a number of a window and 32 VECTOR channels, if it
// is not 0, and any number in the dense way; tenths. It is what limits both.
constexpr int kSparseCost = 50, kDenseCost = 20;

using Several = Samples<REAL, VECTOR>;

// Conv windows [top, bottom) x [left, right).
struct Group {
  int top, bottom, left, right;
  EVONET_METHOD int columns() const { return right - left; }
  EVONET_METHOD int windows() const { return (bottom - top) * (right - left); }
};

// The sizes of a layer and the weights that a thread multiplies by, as sums need them.
struct Windows {
  const char* weights;  // of the thread's first channel
  int weight_step;      // bytes from a tap to the next
  int kernel_height, run, channels, stride, columns, count;
  REAL* sums;  // [windows, channels of the block], at the thread's first channel
  int sum_step;
  int team, num_teams;

  EVONET_METHOD Several& sum(int window) const {
    return *reinterpret_cast<Several*>(sums + window * sum_step);
  }
  static EVONET_METHOD Several load(const char* place) {
    return *reinterpret_cast<const Several*>(place);
  }
  static EVONET_METHOD void add(Several& sum, REAL x, const Several& by) {
    EVONET_UNROLL
    for (int k = 0; k < VECTOR; ++k) sum.at[k] = multiply_add(x, by.at[k], sum.at[k]);
  }
};

// Adds the packed part [begin, end) of a patch to all sums; returns how many non-zeros that took.
static __device__ __forceinline__ long long add_sparse(const Windows& w, const Patch<REAL>& patch,
                                                       const Packed<REAL>& packed, int begin,
                                                       int end) {
  long long terms = 0;
  for (int window = w.team; window < w.count; window += w.num_teams) {
    const int y = window / w.columns, x = window - y * w.columns;
    Several sum{};
    if (begin > 0) sum = w.sum(window);
    const int shift = x * w.stride * w.channels;
    int row = y * w.stride * patch.row + shift;
    for (int ky = 0; ky < w.kernel_height; ++ky, row += patch.row) {
      const int from = max(row, begin), to = min(row + w.run, end);
      if (from >= to) continue;
      int i = packed.rank(from - begin);
      const int last = packed.rank(to - begin);
      terms += last - i;
      const char* const weights =
          fixed(w.weights + wide_product(ky * w.run - shift, w.weight_step));
#pragma unroll 4
      for (; i < last; ++i) {
        const NonZero<REAL> found = packed.found[i];
        Windows::add(sum, found.value,
                     Windows::load(weights + wide_product(found.position, w.weight_step)));
      }
    }
    w.sum(window) = sum;
  }
  return terms;
}

static __device__ __forceinline__ void sum_dense(const Windows& w, const Patch<REAL>& patch) {
  for (int first = w.team * kDenseWindows; first < w.count; first += w.num_teams * kDenseWindows) {
    Several sum[kDenseWindows] = {};
    int from[kDenseWindows];
    EVONET_UNROLL
    for (int j = 0; j < kDenseWindows; ++j) {
      const int window = min(first + j, w.count - 1);
      const int y = window / w.columns, x = window - y * w.columns;
      from[j] = y * w.stride * patch.map_row + x * w.stride * w.channels;
    }
    const char* weights = w.weights;
    for (int ky = 0; ky < w.kernel_height; ++ky) {
      const REAL* row = patch.first + wide_product(ky, patch.map_row);
#pragma unroll 4
      for (int t = 0; t < w.run; ++t, weights += w.weight_step, ++row) {
        const Several by = Windows::load(weights);
        EVONET_UNROLL
        for (int j = 0; j < kDenseWindows; ++j) {
          Windows::add(sum[j], row[from[j]], by);
        }
      }
    }
    EVONET_UNROLL
    for (int j = 0; j < kDenseWindows; ++j) {
      if (first + j < w.count) w.sum(first + j) = sum[j];
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, kLeastBlocks)
    convolve(const REAL* __restrict__ map, const REAL* __restrict__ weights,
             const REAL* __restrict__ bias, REAL* __restrict__ out,
             unsigned long long* __restrict__ counts, long long map_step, long long out_step,
             long long out_row_step, long long out_column_step, long long out_channel_step,
             int map_row, int channels, int num_outputs, int kernel_height, int kernel_width,
             int stride, int activation, int pool, int pool_size, int pool_stride, int out_height,
             int out_width, int tile_rows, int tile_columns, int group_rows, int group_columns,
             int lanes, int part_numbers, int path, int num_images) {
  extern __shared__ uint4 dynamic_shared[];
  const int thread = threadIdx.x;
  const int block_channels = lanes * VECTOR;
  REAL* const sums = reinterpret_cast<REAL*>(dynamic_shared);  // [windows of a group, channels]
  REAL* const pooled = sums + group_rows * group_columns * block_channels;  // [tile, channels]
  Packed<REAL> packed;
  packed.found =
      reinterpret_cast<NonZero<REAL>*>(pooled + tile_rows * tile_columns * block_channels);
  packed.mask = reinterpret_cast<unsigned*>(packed.found + part_numbers);
  packed.before = reinterpret_cast<int*>(packed.mask + part_numbers / 32 + 1);

  // All images with one block of channels before the next, whose weights then stay in a cache.
  const int across = (out_width - 1) / tile_columns + 1, down = (out_height - 1) / tile_rows + 1;
  const unsigned tile = blockIdx.x % unsigned(across * down);
  const unsigned rest = blockIdx.x / unsigned(across * down);
  const int image = int(rest % unsigned(num_images)), block = int(rest / unsigned(num_images));
  const int top = int(tile) / across * tile_rows, left = int(tile) % across * tile_columns;
  const int tile_width = min(tile_columns, out_width - left);
  const int num_out = min(tile_rows, out_height - top) * tile_width * block_channels;

  Windows w;
  w.run = kernel_width * channels;
  w.weight_step = block_channels * int(sizeof(REAL));
  w.weights = reinterpret_cast<const char*>(weights + thread % lanes * VECTOR) +
              wide_product(kernel_height * w.run, w.weight_step) * block;
  w.kernel_height = kernel_height;
  w.channels = channels;
  w.stride = stride;
  w.sums = sums + thread % lanes * VECTOR;
  w.sum_step = block_channels;
  w.team = thread / lanes;
  w.num_teams = kThreads / lanes;

  const Group all{top * pool_stride,
                  (min(top + tile_rows, out_height) - 1) * pool_stride + pool_size,
                  left * pool_stride, (left + tile_width - 1) * pool_stride + pool_size};
  long long sparse_terms = 0, dense_terms = 0;
  for (int y = all.top; y < all.bottom; y += group_rows) {
    for (int x = all.left; x < all.right; x += group_columns) {
      const Group group{y, min(y + group_rows, all.bottom), x, min(x + group_columns, all.right)};
      w.columns = group.columns();
      w.count = group.windows();
      Patch<REAL> patch;
      patch.first = map + image * map_step + wide_product(group.top * stride, map_row) +
                    wide_product(group.left * stride, channels);
      patch.map_row = map_row;
      patch.row = (group.columns() - 1) * stride * channels + w.run;
      patch.numbers = ((group.bottom - group.top - 1) * stride + kernel_height) * patch.row;

      bool is_dense = path == kDense;
      if (path == kAuto) {
        is_dense = (long long)count_nonzeros<kWarps>(patch) * kSparseCost >
                   (long long)patch.numbers * kDenseCost;
      }
      if (is_dense) {
        sum_dense(w, patch);
        dense_terms += wide_product(kernel_height * w.run, w.count);
      } else {
        for (int begin = 0; begin < patch.numbers; begin += part_numbers) {
          const int end = min(begin + part_numbers, patch.numbers);
          pack<kWarps>(patch, begin, end, packed);
          sparse_terms += add_sparse(w, patch, packed, begin, end);
        }
      }
      __syncthreads();

      for (int i = thread; i < w.count * block_channels; i += kThreads) {
        const REAL z = finish_sum(sums[i], bias[block * block_channels + i % block_channels]);
        const auto activate = [&](auto function) { sums[i] = function.apply(z); };
        with_activation(activation, activate);
        if constexpr (kHasCustomActivations) {
          if (activation >= NUM_ACTIVATIONS) with_custom_activation(activation, activate);
        }
      }
      __syncthreads();

      // Windows of a pool in the order of memory: a group is part of a row, or whole rows.
      for (int i = thread; i < num_out; i += kThreads) {
        const int channel = i % block_channels, place = i / block_channels;
        const int y0 = (top + place / tile_width) * pool_stride;
        const int x0 = (left + place % tile_width) * pool_stride;
        const int y_end = min(y0 + pool_size, group.bottom);
        const int x_end = min(x0 + pool_size, group.right);
        REAL joined = y0 < group.top || x0 < group.left ? pooled[i] : REAL(0);
        for (int wy = max(y0, group.top); wy < y_end; ++wy) {
          for (int wx = max(x0, group.left); wx < x_end; ++wx) {
            const int window = (wy - group.top) * group.columns() + wx - group.left;
            const REAL next = sums[window * block_channels + channel];
            if (wy == y0 && wx == x0) {
              joined = next;
            } else {
              joined = pool == kMaxPool ? pool_largest(joined, next) : joined + next;
            }
          }
        }
        pooled[i] = joined;
      }
      __syncthreads();  // nobody reads the sums
    }
  }

  long long nonzeros = 0;
  for (int i = thread; i < num_out; i += kThreads) {
    const int channel = block * block_channels + i % block_channels, place = i / block_channels;
    if (channel >= num_outputs) continue;
    REAL y = pooled[i];
    if (pool == kAveragePool) y = pool_mean(y, REAL(pool_size * pool_size));
    nonzeros += y != REAL(0);
    out[image * out_step + (top + place / tile_width) * out_row_step +
        (left + place % tile_width) * out_column_step + channel * out_channel_step] = y;
  }
  nonzeros = add_warp(nonzeros);
  sparse_terms = add_warp(thread % lanes == 0 ? sparse_terms : 0);
  if (thread % 32 == 0) {  // whole numbers, whose order does not matter
    atomicAdd(counts + 3, (unsigned long long)nonzeros);
    atomicAdd(counts + 1, (unsigned long long)sparse_terms);
    if (thread == 0) atomicAdd(counts + 2, (unsigned long long)dense_terms);
  }
}
