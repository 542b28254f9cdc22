#include "native/statistics.h"

#include <algorithm>
#include <cstdlib>

#include "native/exact_sum.h"
#include "numerics/exact.h"

namespace evonet {
namespace {

// visit(value * 2^-scale) for all values; a product is many times faster, where there is such a
// number.
template <class Visit>
void each_scaled(const double* values, int64_t count, int scale, const Visit& visit) {
  if (std::abs(scale) <= 1000) {
    const double unit = exact::scaled(1.0, -scale);
    for (int64_t i = 0; i < count; ++i) visit(values[i] * unit);
  } else {
    for (int64_t i = 0; i < count; ++i) visit(exact::scaled(values[i], -scale));
  }
}

}  // namespace

Spread measure_spread(const double* values, int64_t count) {
  double most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, exact::magnitude(values[i]));
  const int scale = exact::power_above(most);
  const auto size = static_cast<double>(count);
  ExactSum sum, squares;
  each_scaled(values, count, scale, [&](double value) { sum.add(value); });
  const double mean = sum.rounded() / size;
  each_scaled(values, count, scale, [&](double value) {
    const double off = value - mean;
    squares.add(off * off);
  });
  return {mean, exact::root(squares.rounded() / size), scale};
}

}  // namespace evonet
