// pendulum.h: swing a pendulum up and hold it there, as in Gymnasium's Pendulum-v1. The angle is
// kept between -pi and pi, which has no effect, because only its sine and cosine are seen.
#pragma once

#include "control/control.h"

EVONET_NAMESPACE_BEGIN

struct Pendulum {
  static constexpr int kStateSize = 2;   // angle from upright, angular speed
  static constexpr int kNumInputs = 3;   // cosine, sine, angular speed
  static constexpr int kNumOutputs = 1;  // -1 to 1: the torque, of at most 2

  template <class T>
  EVONET_METHOD static void reset(const Philox& drawn, T* state) {
    constexpr T pi(3.141592653589793);
    state[0] = between(-pi, pi, drawn.word[0]);
    state[1] = between(T(-1), T(1), drawn.word[1]);
  }

  template <class T, class Inputs>
  EVONET_METHOD static void observe(const T* state, Inputs&& input) {
    input[0] = cosine(state[0]);
    input[1] = sine(state[0]);
    input[2] = state[1];
  }

  template <class T>
  EVONET_METHOD static Outcome<T> step(T* state, const T* output) {
    using L = Lane<T>;
    constexpr L seconds(0.05), fastest(8);
    const T angle = state[0], turn = state[1];
    const T torque = held(output[0], L(1)) * L(2);
    const T cost = (angle * angle + L(0.1) * (turn * turn)) + L(0.001) * (torque * torque);
    const T turning = L(15) * sine(angle) + L(3) * torque;
    state[1] = held(turn + turning * seconds, fastest);
    state[0] = wrapped(angle + state[1] * seconds);
    return {-cost, Bits<T>{}};
  }
};

EVONET_NAMESPACE_END
