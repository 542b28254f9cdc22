// statistics.h: the mean and the spread of many numbers, the same on every machine.
#pragma once

#include <cstdint>

namespace evonet {

// Both are in units of 2^scale, so that no sum overflows.
struct Spread {
  double mean, deviation;
  int scale;
};

// Of finite numbers, at least one; `deviation` is the standard deviation.
Spread measure_spread(const double* values, int64_t count, int threads);

// The sum of finite numbers, rounded once; infinite beyond the largest number.
double sum_exactly(const double* values, int64_t count, int threads);

}  // namespace evonet
