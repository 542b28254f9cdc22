// isa.cpp: what one instruction set offers, gathered from its translation units. Compiled once per
// instruction set, as they are, with EVONET_ISA naming it.
#include "native/isa/isa.h"

#include "native/bandwidth.h"
#include "native/fma_peak.h"

#define EVONET_JOIN(a, b) a##b
#define EVONET_ISA_OBJECT(name) EVONET_JOIN(isa_, name)
#define EVONET_TEXT(name) #name
#define EVONET_NAME(name) EVONET_TEXT(name)

EVONET_NAMESPACE_BEGIN

extern const ForwardKernels<float> forward_float32;
extern const ForwardKernels<double> forward_float64;
extern const EvolutionKernels<float> evolution_float32;
extern const EvolutionKernels<double> evolution_float64;
extern const RolloutKernels<float> rollout_float32;
extern const RolloutKernels<double> rollout_float64;
extern const ControlList<float> control_float32;
extern const ControlList<double> control_float64;
extern const GradientKernels<float> gradient_float32;
extern const GradientKernels<double> gradient_float64;
extern const ImageKernels<float> images_float32;
extern const ImageKernels<double> images_float64;
extern const WideKernels wide_float32;

EVONET_NAMESPACE_END

namespace evonet {

extern const Isa EVONET_ISA_OBJECT(EVONET_ISA);
const Isa EVONET_ISA_OBJECT(EVONET_ISA) = {
    EVONET_NAME(EVONET_ISA),
    {EVONET_ISA::forward_float32, EVONET_ISA::evolution_float32, EVONET_ISA::rollout_float32,
     EVONET_ISA::control_float32, EVONET_ISA::images_float32, EVONET_ISA::gradient_float32},
    {EVONET_ISA::forward_float64, EVONET_ISA::evolution_float64, EVONET_ISA::rollout_float64,
     EVONET_ISA::control_float64, EVONET_ISA::images_float64, EVONET_ISA::gradient_float64},
    EVONET_ISA::wide_float32,
    &EVONET_ISA::spin_fma,
    &EVONET_ISA::read_rows};

}  // namespace evonet
