// wide_lists.h: lists of rows, as kernels of wide levels search them.
#pragma once

#include "wide/rows.h"

EVONET_NAMESPACE_BEGIN

// The first place of a list [begin, end) whose row is not before `row`; lists ascend.
EVONET_FN int64 place_in_list(const int32* rows, int64 begin, int64 end, int32 row) {
  while (begin < end) {
    const int64 middle = begin + (end - begin) / 2;
    if (rows[middle] < row) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

// The tree of add_lanes over half a warp; the sum is lane 0's.
EVONET_FN float add_half_warp(float x) {
  EVONET_UNROLL
  for (int half = kRowLanes / 2; half > 0; half /= 2) {
    x = x + __shfl_down_sync(0xffffffffu, x, half, kRowLanes);
  }
  return x;
}

EVONET_NAMESPACE_END
