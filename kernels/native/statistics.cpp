#include "native/statistics.h"

#include <algorithm>
#include <cmath>

#include "native/exact_sum.h"

namespace evonet {
namespace {

// visit(value * 2^-scale) for all values; a product is many times faster, where there is such a
// number.
template <class Visit>
void each_scaled(const double* values, int64_t count, int scale, const Visit& visit) {
  if (std::abs(scale) <= 1000) {
    const double unit = std::ldexp(1.0, -scale);
    for (int64_t i = 0; i < count; ++i) visit(values[i] * unit);
  } else {
    for (int64_t i = 0; i < count; ++i) visit(std::ldexp(values[i], -scale));
  }
}

}  // namespace

Spread measure_spread(const double* values, int64_t count) {
  double most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, std::abs(values[i]));
  int scale = 0;
  std::frexp(most, &scale);
  const auto size = static_cast<double>(count);
  ExactSum sum, squares;
  each_scaled(values, count, scale, [&](double value) { sum.add(value); });
  const double mean = sum.rounded() / size;
  each_scaled(values, count, scale, [&](double value) {
    const double off = value - mean;
    squares.add(off * off);
  });
  return {mean, std::sqrt(squares.rounded() / size), scale};
}

}  // namespace evonet
