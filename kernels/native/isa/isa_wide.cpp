// isa_wide.cpp: wide levels for one instruction set.
#include "native/wide_kernels.h"

EVONET_NAMESPACE_BEGIN

extern const WideKernels wide_float32;
const WideKernels wide_float32 = kWide;

EVONET_NAMESPACE_END
