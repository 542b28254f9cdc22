// isa_control.cpp: control tasks for one instruction set.
#include "native/control_kernels.h"

EVONET_NAMESPACE_BEGIN

template <class T>
constexpr ControlList<T> kControlList = {kControls<T>,
                                         sizeof(kControls<T>) / sizeof(*kControls<T>)};

extern const ControlList<float> control_float32;
extern const ControlList<double> control_float64;
const ControlList<float> control_float32 = kControlList<float>;
const ControlList<double> control_float64 = kControlList<double>;

EVONET_NAMESPACE_END
