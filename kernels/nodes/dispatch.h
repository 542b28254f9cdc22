// dispatch.h: each activation as a type, so that a loop knows its formula when it is compiled and a
// switch is taken once per node, not once per number.
#pragma once

#include "nodes/activations.h"

EVONET_NAMESPACE_BEGIN

#define EVONET_ACTIVATION(ID, name, formula) \
  struct Activation_##name {                 \
    template <class T>                       \
    static EVONET_METHOD T apply(T z) {      \
      return activate_##name(z);             \
    }                                        \
  };
#include "nodes/functions.def"

template <class Visit>
EVONET_FN void with_activation(int id, Visit visit) {
  switch (id) {
#define EVONET_ACTIVATION(ID, name, formula) \
  case ACT_##ID:                             \
    return visit(Activation_##name());
#include "nodes/functions.def"
  }
}

EVONET_NAMESPACE_END
