// isa_forward.cpp: the forward pass for one instruction set.
#include "native/act.h"
#include "native/block_rows.h"
#include "native/forward.h"
#include "native/lane_group_kernels.h"

EVONET_NAMESPACE_BEGIN

template void act(const ScheduleView<float>&, Lanes<float>&, int64_t, int, int, Workspace<float>&,
                  Interrupt&);
template void act(const ScheduleView<double>&, Lanes<double>&, int64_t, int, int,
                  Workspace<double>&, Interrupt&);

template <class T>
constexpr ForwardKernels<T> kForward = {
    kVectorLanes<T>,       kMaxWidth<T>,
    &forward_genomes<T>,   &activate_values<T>,
    &aggregate_values<T>,  &activate_by<T>,
    &aggregate_program<T>, &terms_of_program<T>,
    kGroupLanes<T>,        {&run_lane_group<false, T>, &run_lane_group<true, T>},
    &loss_rows<T>,         kTileWidth<T>,
    &run_segment<T>,       &find_bits<T>};

extern const ForwardKernels<float> forward_float32;
extern const ForwardKernels<double> forward_float64;
const ForwardKernels<float> forward_float32 = kForward<float>;
const ForwardKernels<double> forward_float64 = kForward<double>;

EVONET_NAMESPACE_END
