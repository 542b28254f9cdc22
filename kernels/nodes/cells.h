// cells.h: what networks with memory keep from one step to the next. A step first computes every
// node as a feed-forward network would, where links that act in the next step read what the cells
// of their sources remember; then each cell settles: it takes in its node's value, may change it,
// and remembers what the next step needs. T is a number or a vector of numbers.
#pragma once

#include "numerics/portable.h"

EVONET_NAMESPACE_BEGIN

// In the order of KINDS in evonet/definitions/dynamics.py.
enum Kind : int { KIND_FEEDFORWARD, KIND_RECURRENT, KIND_CTRNN, KIND_IZHIKEVICH };

// A cell has kStates numbers of memory, the first of which links read, and kParameters genes.
//   begin(parameter, state)                        before the first step
//   settle(value, state, parameter, time_step)     after every step

struct FeedForwardCell {
  static constexpr int kStates = 0, kParameters = 0;

  template <class T>
  EVONET_METHOD static void begin(const T*, T*) {}
  template <class T>
  EVONET_METHOD static void settle(T&, T*, const T*, Lane<T>) {}
};

struct RecurrentCell {
  static constexpr int kStates = 1, kParameters = 0;

  template <class T>
  EVONET_METHOD static void begin(const T*, T* state) {
    state[0] = T{};
  }
  template <class T>
  EVONET_METHOD static void settle(T& value, T* state, const T*, Lane<T>) {
    state[0] = value;
  }
};

// Follows its node's value exponentially. The parameter is the part of itself that it keeps in a
// step, exp(-time step / time constant).
struct CtrnnCell {
  static constexpr int kStates = 1, kParameters = 1;

  template <class T>
  EVONET_METHOD static void begin(const T*, T* state) {
    state[0] = T{};
  }
  template <class T>
  EVONET_METHOD static void settle(T& value, T* state, const T* parameter, Lane<T>) {
    const T kept = parameter[0];
    value = canonical(multiply_add(kept, state[0], (Lane<T>(1) - kept) * value));
    state[0] = value;
  }
};

// A spiking neuron (Izhikevich 2003) whose node's value is the current that flows into it. It
// remembers whether it fired, its membrane potential in mV and its recovery; its value is 1 if it
// fires and 0 if not. Parameters a, b, c, d: how fast and how strongly it recovers, the potential
// after a spike, and by how much a spike raises the recovery. Time steps are in ms.
struct IzhikevichCell {
  static constexpr int kStates = 3, kParameters = 4;

  template <class T>
  EVONET_METHOD static void begin(const T* parameter, T* state) {
    state[0] = T{};
    state[1] = parameter[2];
    state[2] = parameter[1] * parameter[2];
  }

  template <class T>
  EVONET_METHOD static void settle(T& value, T* state, const T* parameter, Lane<T> time_step) {
    using L = Lane<T>;
    const T current = value, a = parameter[0], b = parameter[1], c = parameter[2];
    const L half = L(0.5) * time_step;
    T v = state[1], u = state[2];
    for (int i = 0; i < 2; ++i) {
      v = v + half * (L(0.04) * (v * v) + L(5) * v + L(140) - u + current);
    }
    u = u + time_step * a * (b * v - u);
    // A neuron that overflows starts again, without a spike.
    const T nothing = (v - v) + (u - u);
    auto finite = nothing == T{};
    v = finite ? v : c;
    u = finite ? u : b * c;
    auto fires = v > all<T>(L(30));
    value = fires ? all<T>(L(1)) : T{};
    state[0] = value;
    state[1] = fires ? c : v;
    state[2] = fires ? u + parameter[3] : u;
  }
};

template <class Visit>
EVONET_FN void with_cell(int kind, Visit visit) {
  switch (kind) {
    case KIND_RECURRENT:
      return visit(RecurrentCell());
    case KIND_CTRNN:
      return visit(CtrnnCell());
    case KIND_IZHIKEVICH:
      return visit(IzhikevichCell());
    default:
      return visit(FeedForwardCell());
  }
}

EVONET_NAMESPACE_END
