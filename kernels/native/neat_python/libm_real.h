// libm_real.h: a double whose exp, tanh, sin, log and powers are those of the C library, as
// Python's are. The formulas of activations.h over this type give neat-python's exact bits.
#pragma once

#include <cmath>

#include "nodes/activations.h"

EVONET_NAMESPACE_BEGIN

struct LibmReal {
  double value;

  LibmReal() = default;
  constexpr LibmReal(double value) : value(value) {}

  friend LibmReal operator-(LibmReal x) { return -x.value; }
  friend LibmReal operator+(LibmReal a, LibmReal b) { return a.value + b.value; }
  friend LibmReal operator-(LibmReal a, LibmReal b) { return a.value - b.value; }
  friend LibmReal operator*(LibmReal a, LibmReal b) { return a.value * b.value; }
  friend LibmReal operator/(LibmReal a, LibmReal b) { return a.value / b.value; }
  friend bool operator<(LibmReal a, LibmReal b) { return a.value < b.value; }
  friend bool operator>(LibmReal a, LibmReal b) { return a.value > b.value; }
  friend bool operator==(LibmReal a, LibmReal b) { return a.value == b.value; }
};

// x ** n as Python computes it. The compiler would make a product of pow(x, 2), which is correctly
// rounded where the library's pow may not be.
inline double python_power(double x, double n) {
  static double (*const volatile power)(double, double) = &std::pow;
  return power(x, n);
}

inline LibmReal exp_double(LibmReal x) { return std::exp(x.value); }
inline LibmReal tanh_double(LibmReal x) { return std::tanh(x.value); }
inline LibmReal sin_double(LibmReal x) { return std::sin(x.value); }
inline LibmReal log_double(LibmReal x) { return std::log(x.value); }
inline LibmReal magnitude(LibmReal x) { return std::fabs(x.value); }

// The three that neat-python writes with a power.
inline LibmReal activate_gauss(LibmReal z) {
  return std::exp(-5.0 * python_power(clip(z, 3.4).value, 2.0));
}
inline LibmReal activate_square(LibmReal z) { return python_power(z.value, 2.0); }
inline LibmReal activate_cube(LibmReal z) { return python_power(z.value, 3.0); }

EVONET_NAMESPACE_END
