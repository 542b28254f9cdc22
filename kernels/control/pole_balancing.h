// pole_balancing.h: one or two poles on a cart (Wieland 1991), the benchmark of the NEAT paper. A
// second, ten times shorter pole makes it hard, hiding all speeds from the network harder. Every
// action lasts two steps of 0.01 s by Runge and Kutta; the first pole starts 4 degrees off.
#pragma once

#include "control/control.h"

EVONET_NAMESPACE_BEGIN

template <int kPoles, bool kSpeeds>
struct PoleBalancing {
  static constexpr int kStateSize = 2 + 2 * kPoles;  // position, speed, then angle and its speed
  static constexpr int kNumInputs = kSpeeds ? kStateSize : kStateSize / 2;
  static constexpr int kNumOutputs = 1;  // -1 to 1: the force, of at most 10 N

  template <class T>
  EVONET_METHOD static void reset(const Philox&, T* state) {
    for (int i = 0; i < kStateSize; ++i) state[i] = T(0);
    state[2] = T(0.06981317007977318);  // 4 degrees
  }

  // Scaled to about -1 to 1.
  template <class T, class Inputs>
  EVONET_METHOD static void observe(const T* state, Inputs&& input) {
    using L = Lane<T>;
    constexpr int stride = kSpeeds ? 2 : 1;
    for (int i = 0; i < kStateSize / 2; ++i) {
      input[i * stride] = state[2 * i] * L(i == 0 ? 1 / 4.8 : 1 / 0.52);
      if constexpr (kSpeeds) input[2 * i + 1] = state[2 * i + 1] * L(0.5);
    }
  }

  template <class T>
  EVONET_METHOD static Outcome<T> step(T* state, const T* output) {
    using L = Lane<T>;
    const T force = held(output[0], L(1)) * L(10);
    for (int half = 0; half < 2; ++half) {
      runge_kutta<kStateSize>(state, L(0.01),
                              [&](const T* y, T* slope) { derive(y, force, slope); });
    }
    constexpr L most(2.4), steepest(kPoles == 1 ? 0.20943951023931953 : 0.6283185307179586);
    Bits<T> ended = magnitude(state[0]) > most;
    for (int p = 0; p < kPoles; ++p) ended = ended | (magnitude(state[2 + 2 * p]) > steepest);
    return {all<T>(L(1)), ended};
  }

 private:
  template <class T>
  EVONET_METHOD static void derive(const T* y, T force, T* slope) {
    using L = Lane<T>;
    constexpr L gravity(-9.8), friction(0.000002), cart(1);
    constexpr L mass[2] = {L(0.1), L(0.01)}, half_length[2] = {L(0.5), L(0.05)};
    T cos[kPoles], weight[kPoles];  // of each pole; weight is what turns it when the cart rests
    T forces = force, masses = all<T>(cart);
    for (int p = 0; p < kPoles; ++p) {
      const T sin = sine(y[2 + 2 * p]), turn = y[3 + 2 * p];
      const L moment = mass[p] * half_length[p];
      cos[p] = cosine(y[2 + 2 * p]);
      weight[p] = (friction / moment) * turn + gravity * sin;
      forces = forces + moment * ((turn * turn) * sin) + (L(0.75) * mass[p]) * (cos[p] * weight[p]);
      masses = masses + mass[p] * (L(1) - L(0.75) * (cos[p] * cos[p]));
    }
    const T speeding = forces / masses;
    slope[0] = y[1];
    slope[1] = speeding;
    for (int p = 0; p < kPoles; ++p) {
      slope[2 + 2 * p] = y[3 + 2 * p];
      slope[3 + 2 * p] = (L(-0.75) / half_length[p]) * (speeding * cos[p] + weight[p]);
    }
  }
};

using SinglePole = PoleBalancing<1, true>;
using SinglePoleNoVelocities = PoleBalancing<1, false>;
using DoublePole = PoleBalancing<2, true>;
using DoublePoleNoVelocities = PoleBalancing<2, false>;

EVONET_NAMESPACE_END
