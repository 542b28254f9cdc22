// mountain_car.h: a car too weak for the hill must swing up to the goal (Moore 1990), as in
// Gymnasium's MountainCar-v0 and MountainCarContinuous-v0.
#pragma once

#include "control/control.h"

EVONET_NAMESPACE_BEGIN

// Moves the car by an acceleration; returns the lanes that are at the goal.
template <class T>
EVONET_FN Bits<T> drive(T* state, T acceleration, Lane<T> goal) {
  using L = Lane<T>;
  constexpr L left_end(-1.2), right_end(0.6), fastest(0.07), slope(0.0025);
  T speed = held(state[1] + (acceleration - slope * cosine(L(3) * state[0])), fastest);
  T position = at_least(at_most(state[0] + speed, all<T>(right_end)), all<T>(left_end));
  // The left end is a wall, without a bounce.
  speed = ((position == left_end) & (speed < L(0))) ? T{} : speed;
  state[0] = position;
  state[1] = speed;
  return (position >= goal) & (speed >= L(0));
}

struct MountainCar {
  static constexpr int kStateSize = 2;  // position, speed
  static constexpr int kNumInputs = 2;
  static constexpr int kNumOutputs = 3;  // left, coast, right

  template <class T>
  EVONET_METHOD static void reset(const Philox& drawn, T* state) {
    state[0] = between(T(-0.6), T(-0.4), drawn.word[0]);
    state[1] = T(0);
  }

  template <class T, class Inputs>
  EVONET_METHOD static void observe(const T* state, Inputs&& input) {
    for (int i = 0; i < 2; ++i) input[i] = state[i];
  }

  template <class T>
  EVONET_METHOD static Outcome<T> step(T* state, const T* output) {
    using L = Lane<T>;
    const T direction = largest<3>(output) - L(1);
    return {all<T>(L(-1)), drive(state, L(0.001) * direction, L(0.5))};
  }
};

// The engine has a throttle: output -1 to 1. Using it costs; the goal is worth 100.
struct MountainCarContinuous {
  static constexpr int kStateSize = 2;
  static constexpr int kNumInputs = 2;
  static constexpr int kNumOutputs = 1;

  template <class T>
  EVONET_METHOD static void reset(const Philox& drawn, T* state) {
    MountainCar::reset(drawn, state);
  }

  template <class T, class Inputs>
  EVONET_METHOD static void observe(const T* state, Inputs&& input) {
    MountainCar::observe(state, input);
  }

  template <class T>
  EVONET_METHOD static Outcome<T> step(T* state, const T* output) {
    using L = Lane<T>;
    const T throttle = held(output[0], L(1));
    const Bits<T> arrived = drive(state, L(0.0015) * throttle, L(0.45));
    const T prize = arrived ? all<T>(L(100)) : T{};
    return {prize - L(0.1) * (throttle * throttle), arrived};
  }
};

EVONET_NAMESPACE_END
