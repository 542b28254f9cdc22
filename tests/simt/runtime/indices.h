// indices.h: threadIdx and its relatives, read-only as in CUDA.
#pragma once

#include "self.h"

#define threadIdx (static_cast<const uint3&>(simt_self->thread_index))
#define blockIdx (static_cast<const uint3&>(simt_self->block_index))
#define blockDim (static_cast<const uint3&>(simt_self->block_dim))
#define gridDim (static_cast<const uint3&>(simt_self->grid_dim))

static constexpr int warpSize = 32;
