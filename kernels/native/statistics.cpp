#include "native/statistics.h"

#include <algorithm>
#include <cstdlib>

#include "native/exact_sum.h"
#include "native/parallel_sum.h"
#include "numerics/exact.h"

namespace evonet {
namespace {

struct Largest {
  double value = 0;

  void add(const Largest& other) { value = std::max(value, other.value); }
};

// The exact sum of term(value * 2^-scale); a product is many times faster, where there is such a
// number.
template <class Term>
double sum_scaled(const double* values, int64_t count, int scale, int threads, const Term& term) {
  ExactSum sum;
  if (std::abs(scale) <= 1000) {
    const double unit = exact::scaled(1.0, -scale);
    sum = add_up<ExactSum>(0, count, threads,
                           [&](ExactSum& part, int64_t i) { part.add(term(values[i] * unit)); });
  } else {
    sum = add_up<ExactSum>(0, count, threads, [&](ExactSum& part, int64_t i) {
      part.add(term(exact::scaled(values[i], -scale)));
    });
  }
  return sum.rounded();
}

}  // namespace

double sum_exactly(const double* values, int64_t count, int threads) {
  return add_up<ExactSum>(0, count, threads,
                          [&](ExactSum& part, int64_t i) { part.add(values[i]); })
      .rounded();
}

Spread measure_spread(const double* values, int64_t count, int threads) {
  const double most = add_up<Largest>(0, count, threads, [&](Largest& part, int64_t i) {
                        part.value = std::max(part.value, exact::magnitude(values[i]));
                      }).value;
  const int scale = exact::power_above(most);
  const auto size = static_cast<double>(count);
  const double mean =
      sum_scaled(values, count, scale, threads, [](double value) { return value; }) / size;
  const double squares = sum_scaled(values, count, scale, threads, [&](double value) {
    const double off = value - mean;
    return off * off;
  });
  return {mean, exact::root(squares / size), scale};
}

}  // namespace evonet
