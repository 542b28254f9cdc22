// custom_functions.h: no custom functions. For networks that have some,
// evonet/functions/expressions/cuda_source.py writes another text in place of this one.
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
