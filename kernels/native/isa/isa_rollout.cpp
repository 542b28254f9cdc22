// isa_rollout.cpp: whole episodes for one instruction set.
#include "native/rollout_kernels.h"

EVONET_NAMESPACE_BEGIN

extern const RolloutKernels<float> rollout_float32;
extern const RolloutKernels<double> rollout_float64;
const RolloutKernels<float> rollout_float32 = kRollout<float>;
const RolloutKernels<double> rollout_float64 = kRollout<double>;

EVONET_NAMESPACE_END
