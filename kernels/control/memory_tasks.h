// memory_tasks.h: tasks that only networks with memory can solve: what matters is not visible when
// it is needed.
#pragma once

#include "control/control.h"

EVONET_NAMESPACE_BEGIN

// Hear kBits bits, one per step, then repeat them in the same order. An answer scores more the
// nearer it is to its bit, -1 or 1; a perfect episode scores 1.
template <int kBits>
struct Copy {
  static constexpr int kStateSize = 1 + kBits;  // steps so far, then the bits
  static constexpr int kNumInputs = 2;  // the bit that is heard, whether it is time to speak
  static constexpr int kNumOutputs = 1;

  template <class T>
  EVONET_METHOD static void reset(const Philox& drawn, T* state) {
    state[0] = T(0);
    for (int i = 0; i < kBits; ++i) {
      state[1 + i] = uniform<T>(drawn.word[i]) < T(0.5) ? T(-1) : T(1);
    }
  }

  template <class T, class Inputs>
  EVONET_METHOD static void observe(const T* state, Inputs&& input) {
    using L = Lane<T>;
    auto speaks = state[0] >= all<T>(L(kBits));
    input[0] = speaks ? T{} : bit(state, state[0]);
    input[1] = speaks ? all<T>(L(1)) : T{};
  }

  template <class T>
  EVONET_METHOD static Outcome<T> step(T* state, const T* output) {
    using L = Lane<T>;
    auto speaks = state[0] >= all<T>(L(kBits));
    const T off = bit(state, state[0] - L(kBits)) - held(output[0], L(1));
    const T score = L(1.0 / kBits) - L(0.25 / kBits) * (off * off);
    state[0] = state[0] + L(1);
    return {speaks ? score : T{}, state[0] >= all<T>(L(2 * kBits))};
  }

 private:
  template <class T>
  EVONET_METHOD static T bit(const T* state, T number) {
    T found = state[1];
    for (int i = 1; i < kBits; ++i) {
      found = number >= all<T>(Lane<T>(i)) ? state[1 + i] : found;
    }
    return found;
  }
};

using CopyBits = Copy<3>;

// Walk down a corridor and turn at its end to the side that a sign at its beginning showed.
// Corridors differ in length, so counting steps does not help. Running into a wall costs a little.
struct TMaze {
  static constexpr int kStateSize = 3;   // position, side of the goal (-1 or 1), length
  static constexpr int kNumInputs = 2;   // the sign, whether this is the junction
  static constexpr int kNumOutputs = 3;  // left, ahead, right

  template <class T>
  EVONET_METHOD static void reset(const Philox& drawn, T* state) {
    state[0] = T(0);
    state[1] = uniform<T>(drawn.word[0]) < T(0.5) ? T(-1) : T(1);
    state[2] = T(3);
    for (int i = 1; i < 8; ++i) {
      state[2] = uniform<T>(drawn.word[1]) >= T(i) / T(8) ? T(3 + i) : state[2];
    }
  }

  template <class T, class Inputs>
  EVONET_METHOD static void observe(const T* state, Inputs&& input) {
    using L = Lane<T>;
    input[0] = state[0] <= T{} ? state[1] : T{};
    input[1] = state[0] >= state[2] ? all<T>(L(1)) : T{};
  }

  template <class T>
  EVONET_METHOD static Outcome<T> step(T* state, const T* output) {
    using L = Lane<T>;
    const T turn = largest<3>(output) - L(1);
    auto ahead = turn == T{};
    const T at_junction = state[0] >= state[2] ? all<T>(L(1)) : T{};
    const T in_corridor = L(1) - at_junction;
    // Numbers instead of flags: 1 where something is so.
    const T goes = ahead ? in_corridor : T{};
    const T turns = ahead ? T{} : at_junction;
    const T arrives = turn == state[1] ? turns : T{};
    state[0] = state[0] + goes;
    const T bumps = (L(1) - goes) - turns;
    return {arrives - L(0.05) * bumps, turns > T{}};
  }
};

EVONET_NAMESPACE_END
