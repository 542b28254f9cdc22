// custom_functions.h: stands for functions of one's own, of which there are none here. For networks
// that have some, evonet/expressions/cuda_source.py writes another text of this name.
#pragma once

#include "numerics/portable.h"

EVONET_NAMESPACE_BEGIN

constexpr bool kHasCustomActivations = false, kHasCustomAggregations = false;

template <class Visit>
EVONET_FN void with_custom_activation(int, Visit) {}

template <class T, class Numbers>
EVONET_FN T join_by_custom(int, int32, Numbers) {
  return T(0);
}

EVONET_NAMESPACE_END
