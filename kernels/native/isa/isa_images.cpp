// isa_images.cpp: fronts for images for one instruction set.
#include "native/images/convolve.h"

EVONET_NAMESPACE_BEGIN

extern const ImageKernels<float> images_float32;
extern const ImageKernels<double> images_float64;
const ImageKernels<float> images_float32 = kImages<float>;
const ImageKernels<double> images_float64 = kImages<double>;

EVONET_NAMESPACE_END
