// wide_hash.cu: a block per row. A thread per column mixes the row in shared memory for SimHash;
// then a thread per function finds its digit, and a thread per table joins them to a code.
#include "wide/hash.h"

using namespace evonet;

constexpr int kMostThreads = 256;

extern "C" __global__ void __launch_bounds__(kMostThreads)
    wide_hash(int kind, int bits, int num_tables, int columns, const float* __restrict__ signs,
              const int* __restrict__ positions, const int* __restrict__ borrow,
              const float* __restrict__ rows, int width, const int* __restrict__ which,
              long long table_stride, long long row_stride, int* __restrict__ codes) {
  extern __shared__ float shared[];  // x [columns], mixed [columns], digits [functions]
  float* const x = shared;
  float* const mixed = x + columns;
  int* const digits = reinterpret_cast<int*>(mixed + columns);
  const long long row = which[blockIdx.x];
  const int digit_width = digit_bits(kind), per_table = bits / digit_width;
  const int functions = num_tables * per_table;
  for (int j = threadIdx.x; j < columns; j += blockDim.x) {
    x[j] = j < width ? rows[row * width + j] : 0.0f;
  }
  __syncthreads();
  if (kind == SIMHASH) {
    for (int first = 0; first < functions; first += columns) {
      for (int turn = 0; turn < 2; ++turn) {
        for (int j = threadIdx.x; j < columns; j += blockDim.x) {
          mixed[j] =
              (turn == 0 ? x[j] : mixed[j]) * signs[2 * (long long)first + turn * columns + j];
        }
        __syncthreads();
        for (int half = 1; half < columns; half *= 2) {
          for (int i = threadIdx.x; i < columns / 2; i += blockDim.x) {
            const int at = i / half * 2 * half + i % half;
            add_and_subtract(mixed[at], mixed[at + half]);
          }
          __syncthreads();
        }
      }
      for (int j = threadIdx.x; j < columns && first + j < functions; j += blockDim.x) {
        digits[first + j] = sign_digit(mixed[j]);
      }
      __syncthreads();
    }
  } else {
    for (int f = threadIdx.x; f < functions; f += blockDim.x) {
      const int* const at = positions + (long long)kBinColumns * f;
      digits[f] = bin_digit<float>([&](int i) { return x[at[i]]; });
    }
    __syncthreads();
  }
  for (int table = threadIdx.x; table < num_tables; table += blockDim.x) {
    int code = 0;
    for (int k = 0; k < per_table; ++k) {
      const int f = table * per_table + k;
      const int digit =
          kind == SIMHASH ? digits[f] : densified([&](int i) { return digits[i]; }, f, borrow);
      code |= digit << (digit_width * k);
    }
    codes[table * table_stride + row * row_stride] = code;
  }
}
