// simt.h: stands in for the CUDA headers that nvcc and NVRTC include by themselves. The loader puts
// it in front of every .cu file.
#pragma once

#include "arithmetic.h"
#include "atomics.h"
#include "barriers.h"
#include "indices.h"
#include "keywords.h"
#include "memory.h"
#include "registration.h"
#include "vector_types.h"
#include "warp.h"

// Not in keywords.h: the C++ library's own headers say __attribute__((__noinline__)).
#define __noinline__ __attribute__((noinline))

#define EVONET_SIMT 1
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1  // the product compiles with NVRTC: take the same branches
#define __CUDA_ARCH__ 800
