// keywords.h: CUDA's declaration specifiers, as far as the preprocessor can express them.
// __global__, __launch_bounds__, __shared__ and __constant__ stay: source.py rewrites them, because
// only a look at the whole declaration tells what they become.
#pragma once

#define __host__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__
#define __builtin_assume(condition)            \
  do {                                         \
    if (!(condition)) __builtin_unreachable(); \
  } while (0)
