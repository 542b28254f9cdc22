// isa_gradient.cpp: reverse passes and learning for one instruction set.
#include "native/gradient_call.h"
#include "native/learn_genome.h"

EVONET_NAMESPACE_BEGIN

template <class T>
constexpr GradientKernels<T> kGradient = {&gradient_width<T>, &genome_gradient<T>, &learn_genome<T>,
                                          &update_genes<T>, &scale_numbers<T>};

extern const GradientKernels<float> gradient_float32;
extern const GradientKernels<double> gradient_float64;
const GradientKernels<float> gradient_float32 = kGradient<float>;
const GradientKernels<double> gradient_float64 = kGradient<double>;

EVONET_NAMESPACE_END
