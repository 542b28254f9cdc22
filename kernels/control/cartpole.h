// cartpole.h: keep a pole upright on a cart that is pushed left or right (Barto, Sutton and
// Anderson 1983), with the constants and Euler's method of Gymnasium's CartPole-v1.
#pragma once

#include "control/control.h"

EVONET_NAMESPACE_BEGIN

struct CartPole {
  static constexpr int kStateSize = 4;  // position, speed, angle, angular speed
  static constexpr int kNumInputs = 4;
  static constexpr int kNumOutputs = 2;  // push left, push right

  template <class T>
  EVONET_METHOD static void reset(const Philox& drawn, T* state) {
    for (int i = 0; i < 4; ++i) state[i] = between(T(-0.05), T(0.05), drawn.word[i]);
  }

  template <class T, class Inputs>
  EVONET_METHOD static void observe(const T* state, Inputs&& input) {
    for (int i = 0; i < 4; ++i) input[i] = state[i];
  }

  template <class T>
  EVONET_METHOD static Outcome<T> step(T* state, const T* output) {
    using L = Lane<T>;
    constexpr L seconds(0.02), gravity(9.8), total_mass(1.1);
    constexpr L pole_mass(0.1), half_length(0.5), moment(0.05);
    const T speed = state[1], turn = state[3];
    const T sin = sine(state[2]), cos = cosine(state[2]);
    const T force = largest<2>(output) * L(20) - L(10);
    const T push = (force + (moment * (turn * turn)) * sin) * (L(1) / total_mass);
    const T inertia = half_length * (L(4.0 / 3.0) - (pole_mass / total_mass) * (cos * cos));
    const T turning = (gravity * sin - cos * push) / inertia;
    const T speeding = push - (moment / total_mass) * (turning * cos);
    state[0] = state[0] + seconds * speed;
    state[1] = speed + seconds * speeding;
    state[2] = state[2] + seconds * turn;
    state[3] = turn + seconds * turning;
    constexpr L most(2.4), steepest(0.20943951023931953);  // 12 degrees
    return {all<T>(L(1)), (magnitude(state[0]) > most) | (magnitude(state[2]) > steepest)};
  }
};

EVONET_NAMESPACE_END
