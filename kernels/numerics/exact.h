// exact.h: functions of whole processors whose results are exact or correctly rounded, so that they
// are equal everywhere. What else the C library has differs between its versions.
#pragma once

namespace evonet::exact {

inline bool is_finite(double x) { return __builtin_isfinite(x); }
inline bool is_infinite(double x) { return __builtin_isinf(x); }
inline double magnitude(double x) { return __builtin_fabs(x); }
inline double nearest(double x) { return __builtin_nearbyint(x); }  // halves to even
inline double ceiling(double x) { return __builtin_ceil(x); }
inline double root(double x) { return __builtin_sqrt(x); }
inline double scaled(double x, int power) { return __builtin_ldexp(x, power); }

// The power of two just above |x|.
inline int power_above(double x) {
  int power = 0;
  __builtin_frexp(x, &power);
  return power;
}

}  // namespace evonet::exact
