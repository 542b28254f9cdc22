// dispatch.h: each activation and each fold as a type, so that a loop knows its formula when it is
// compiled and a switch is taken once per node, not once per number.
#pragma once

#include "nodes/activations.h"
#include "nodes/aggregations.h"

EVONET_NAMESPACE_BEGIN

#define EVONET_EACH_ACTIVATION(X) \
  X(SIGMOID, sigmoid)             \
  X(TANH, tanh)                   \
  X(SIN, sin)                     \
  X(GAUSS, gauss)                 \
  X(RELU, relu)                   \
  X(ELU, elu)                     \
  X(LELU, lelu)                   \
  X(SELU, selu)                   \
  X(SOFTPLUS, softplus)           \
  X(IDENTITY, identity)           \
  X(CLAMPED, clamped)             \
  X(INV, inv)                     \
  X(LOG, log)                     \
  X(EXP, exp)                     \
  X(ABS, abs)                     \
  X(HAT, hat)                     \
  X(SQUARE, square)               \
  X(CUBE, cube)

#define EVONET_TYPE(ID, name)           \
  struct Activation_##name {            \
    template <class T>                  \
    static EVONET_METHOD T apply(T z) { \
      return activate_##name(z);        \
    }                                   \
  };
EVONET_EACH_ACTIVATION(EVONET_TYPE)
#undef EVONET_TYPE

#define EVONET_TYPE(name)                          \
  struct Fold_##name {                             \
    template <class T>                             \
    static EVONET_METHOD T first(T w, T v) {       \
      return agg_##name##_first(w, v);             \
    }                                              \
    template <class T>                             \
    static EVONET_METHOD T next(T acc, T w, T v) { \
      return agg_##name##_next(acc, w, v);         \
    }                                              \
  };
EVONET_TYPE(sum)
EVONET_TYPE(product)
EVONET_TYPE(max)
EVONET_TYPE(min)
EVONET_TYPE(maxabs)
#undef EVONET_TYPE

template <class Visit>
EVONET_FN void with_activation(int id, Visit visit) {
#define EVONET_CASE(ID, name) \
  case ACT_##ID:              \
    return visit(Activation_##name());
  switch (id) { EVONET_EACH_ACTIVATION(EVONET_CASE) }
#undef EVONET_CASE
}

#undef EVONET_EACH_ACTIVATION

EVONET_NAMESPACE_END
