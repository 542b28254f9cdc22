// isa_images.cpp: fronts for images for one instruction set.
#include "native/images/convolve.h"
#include "native/images/reverse.h"

EVONET_NAMESPACE_BEGIN

template <class T>
constexpr ImageKernels<T> kImages = {kVectorLanes<T>,    4 * kVectorLanes<T>, kTilePixels,
                                     &pack_row<T>,       &convolve_tile<T>,   &finish_windows<T>,
                                     &unpool_windows<T>, &reverse_windows<T>, &join_sums<T>};

extern const ImageKernels<float> images_float32;
extern const ImageKernels<double> images_float64;
const ImageKernels<float> images_float32 = kImages<float>;
const ImageKernels<double> images_float64 = kImages<double>;

EVONET_NAMESPACE_END
