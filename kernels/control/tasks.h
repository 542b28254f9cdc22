// tasks.h: all control tasks. controls.def lists them and includes their formulas.
#pragma once

#include "control/controls.def"

EVONET_NAMESPACE_BEGIN

#define EVONET_CONTROL(name, Type, state_size, num_inputs, num_outputs, ...)        \
  static_assert(Type::kStateSize == state_size && Type::kNumInputs == num_inputs && \
                    Type::kNumOutputs == num_outputs,                               \
                #name " in controls.def has other sizes than " #Type " in its header");
#include "control/controls.def"

EVONET_NAMESPACE_END
