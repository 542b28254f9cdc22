// isa_forward.cpp: the forward pass and the loss for one instruction set.
#include "native/forward.h"
#include "native/loss_rows.h"

EVONET_NAMESPACE_BEGIN

template <class T>
constexpr ForwardKernels<T> kForward = {
    kMaxWidth<T>,    &forward_genomes<T>,   &activate_rows<T>, &aggregate_rows<T>,
    &activate_by<T>, &aggregate_program<T>, &loss_rows<T>};

extern const ForwardKernels<float> forward_float32;
extern const ForwardKernels<double> forward_float64;
const ForwardKernels<float> forward_float32 = kForward<float>;
const ForwardKernels<double> forward_float64 = kForward<double>;

EVONET_NAMESPACE_END
