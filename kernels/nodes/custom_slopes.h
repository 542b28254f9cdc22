// custom_slopes.h: no derivatives of custom functions. For networks that have custom functions,
// evonet/functions/expressions/cuda_source.py writes another text in place of this one.
#pragma once

#include "numerics/portable.h"

EVONET_NAMESPACE_BEGIN

// visit(slope): slope.apply(x) is the derivative of an activation.
template <class Visit>
EVONET_FN void with_custom_slope(int, Visit) {}

// each(i, y): y is the derivative of an aggregation by x(i), the product of link i.
template <class T, class Numbers, class Each>
EVONET_FN void terms_by_custom(int, int32, Numbers, Each) {}

EVONET_NAMESPACE_END
