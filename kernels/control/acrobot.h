// acrobot.h: two links hang from a bar, a motor sits between them, and the tip must get above the
// bar by its own length (Sutton 1996), with the constants of Gymnasium's Acrobot-v1: links of
// length, mass and moment 1, centres of mass in their middle.
#pragma once

#include "control/control.h"

EVONET_NAMESPACE_BEGIN

struct Acrobot {
  static constexpr int kStateSize = 4;   // both angles, both angular speeds
  static constexpr int kNumInputs = 6;   // cosine and sine of both angles, both speeds
  static constexpr int kNumOutputs = 3;  // torque -1, 0, 1

  template <class T>
  EVONET_METHOD static void reset(const Philox& drawn, T* state) {
    for (int i = 0; i < 4; ++i) state[i] = between(T(-0.1), T(0.1), drawn.word[i]);
  }

  template <class T, class Inputs>
  EVONET_METHOD static void observe(const T* state, Inputs&& input) {
    input[0] = cosine(state[0]);
    input[1] = sine(state[0]);
    input[2] = cosine(state[1]);
    input[3] = sine(state[1]);
    input[4] = state[2];
    input[5] = state[3];
  }

  template <class T>
  EVONET_METHOD static Outcome<T> step(T* state, const T* output) {
    using L = Lane<T>;
    const T torque = largest<3>(output) - L(1);
    runge_kutta<4>(state, L(0.2), [&](const T* y, T* slope) {
      const T sin = sine(y[1]), cos = cosine(y[1]);
      const T d1 = cos + L(3.5), d2 = L(0.5) * cos + L(1.25);
      const T phi2 = L(4.9) * sine(y[0] + y[1]);
      const T swing = (L(0.5) * y[3] + y[2]) * y[3];
      const T phi1 = (L(14.7) * sine(y[0]) - swing * sin) + phi2;
      const T share = d2 / d1;
      const T pull = ((torque + share * phi1) - (L(0.5) * (y[2] * y[2])) * sin) - phi2;
      const T turning = pull / (L(1.25) - share * d2);
      slope[0] = y[2];
      slope[1] = y[3];
      slope[2] = -((d2 * turning + phi1) / d1);
      slope[3] = turning;
    });
    state[0] = wrapped(state[0]);
    state[1] = wrapped(state[1]);
    state[2] = held(state[2], L(12.566370614359172));
    state[3] = held(state[3], L(28.274333882308138));
    const T height = -cosine(state[0]) - cosine(state[1] + state[0]);
    const Bits<T> ended = height > L(1);
    return {ended ? T{} : all<T>(L(-1)), ended};
  }
};

EVONET_NAMESPACE_END
