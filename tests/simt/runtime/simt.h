// simt.h: stands in for the CUDA headers that nvcc and NVRTC include by themselves. The loader puts
// it in front of every .cu file.
#pragma once

#include "keywords.h"
//
#include "arithmetic.h"
#include "atomics.h"
#include "barriers.h"
#include "entry.h"
#include "indices.h"
#include "memory.h"
#include "vector_types.h"
#include "warp.h"

#define EVONET_SIMT 1
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1  // the product compiles with NVRTC: take the same branches
#define __CUDA_ARCH__ 800
