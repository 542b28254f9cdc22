// isa_evolution.cpp: breeding and genetic distance for one instruction set.
#include "native/evolution_kernels.h"

EVONET_NAMESPACE_BEGIN

extern const EvolutionKernels<float> evolution_float32;
extern const EvolutionKernels<double> evolution_float64;
const EvolutionKernels<float> evolution_float32 = kEvolution<float>;
const EvolutionKernels<double> evolution_float64 = kEvolution<double>;

EVONET_NAMESPACE_END
