// pixel_games.h: games that are seen as screens of two channels, what flies and what is held, row
// by row; a pixel is 1 or 0. Speeds do not show on a screen, only from one to the next.
#pragma once

#include "control/control.h"

EVONET_NAMESPACE_BEGIN

constexpr int kScreenSide = 8;
constexpr int kScreenInputs = 2 * kScreenSide * kScreenSide;

// 0 to count - 1 from a number below 1.
template <class T>
EVONET_FN T chosen_of(int count, T share) {
  T chosen(0);
  for (int i = 1; i < count; ++i) chosen = share >= T(i) / T(count) ? T(i) : chosen;
  return chosen;
}

// x after a bounce off the first or last row or column.
template <class T>
EVONET_FN T bounced(T x) {
  using L = Lane<T>;
  x = magnitude(x);
  return x > all<T>(L(kScreenSide - 1)) ? L(2 * (kScreenSide - 1)) - x : x;
}

template <class T>
EVONET_FN T on_screen(T x) {
  return at_least(at_most(x, all<T>(Lane<T>(kScreenSide - 1))), T{});
}

// 1 where something within `reach` of `middle` covers pixel `at` of its row or column.
template <class T>
EVONET_FN T covers(T middle, Lane<T> reach, int at) {
  return magnitude(middle - Lane<T>(at)) <= all<T>(reach) ? all<T>(Lane<T>(1)) : T{};
}

// A ball falls, perhaps drifting sideways; catch it with a bat of three pixels at the bottom. An
// episode is one ball, worth 1 if it is caught and -1 if not.
struct Catch {
  static constexpr int kStateSize = 4;  // row, column and drift of the ball, column of the bat
  static constexpr int kNumInputs = kScreenInputs;
  static constexpr int kNumOutputs = 3;  // left, stay, right

  template <class T>
  EVONET_METHOD static void reset(const Philox& drawn, T* state) {
    state[0] = T(0);
    state[1] = chosen_of(kScreenSide, uniform<T>(drawn.word[0]));
    state[2] = chosen_of(3, uniform<T>(drawn.word[1])) - T(1);
    state[3] = chosen_of(kScreenSide, uniform<T>(drawn.word[2]));
  }

  template <class T, class Inputs>
  EVONET_METHOD static void observe(const T* state, Inputs&& input) {
    EVONET_KEEP_LOOP
    for (int column = 0; column < kScreenSide; ++column) {
      const T here = covers(state[1], 0, column);
      const T bat = covers(state[3], 1, column);
      EVONET_KEEP_LOOP
      for (int row = 0; row < kScreenSide; ++row) {
        const int pixel = row * kScreenSide + column;
        input[pixel] = here * covers(state[0], 0, row);
        input[kScreenSide * kScreenSide + pixel] = row == kScreenSide - 1 ? bat : T{};
      }
    }
  }

  template <class T>
  EVONET_METHOD static Outcome<T> step(T* state, const T* output) {
    using L = Lane<T>;
    state[3] = on_screen(state[3] + (largest<3>(output) - L(1)));
    const T moved = state[1] + state[2];
    const T column = bounced(moved);
    state[2] = column == moved ? state[2] : -state[2];
    state[1] = column;
    state[0] = state[0] + L(1);
    auto ends = state[0] >= all<T>(L(kScreenSide - 1));
    const T caught = magnitude(column - state[3]) <= all<T>(L(1)) ? all<T>(L(1)) : all<T>(L(-1));
    return {ends ? caught : T{}, ends};
  }
};

// Two bats of three pixels, one ball, which flies straight off the middle of a bat and to the side
// off its ends. The player holds the right bat; the left one follows the ball while it comes near,
// at half the player's speed. An episode is five points, each 1 or -1.
struct Pong {
  // Column and row of the ball, their speeds, row of the player and of the other, whether the other
  // may move, what decides the next serve (0 to 1023), points so far.
  static constexpr int kStateSize = 9;
  static constexpr int kNumInputs = kScreenInputs;
  static constexpr int kNumOutputs = 3;  // up, stay, down
  static constexpr int kPoints = 5;

  template <class T>
  EVONET_METHOD static void reset(const Philox& drawn, T* state) {
    for (int i = 0; i < kStateSize; ++i) state[i] = T(0);
    state[4] = chosen_of(kScreenSide, uniform<T>(drawn.word[0]));
    state[5] = chosen_of(kScreenSide, uniform<T>(drawn.word[1]));
    state[7] = chosen_of(1024, uniform<T>(drawn.word[2]));
    serve(state, uniform<T>(drawn.word[3]) < T(0.5) ? T(-1) : T(1));
  }

  template <class T, class Inputs>
  EVONET_METHOD static void observe(const T* state, Inputs&& input) {
    EVONET_KEEP_LOOP
    for (int row = 0; row < kScreenSide; ++row) {
      const T here = covers(state[1], 0, row);
      const T player = covers(state[4], 1, row), other = covers(state[5], 1, row);
      EVONET_KEEP_LOOP
      for (int column = 0; column < kScreenSide; ++column) {
        const int pixel = row * kScreenSide + column;
        input[pixel] = here * covers(state[0], 0, column);
        input[kScreenSide * kScreenSide + pixel] =
            column == 0 ? other : (column == kScreenSide - 1 ? player : T{});
      }
    }
  }

  template <class T>
  EVONET_METHOD static Outcome<T> step(T* state, const T* output) {
    using L = Lane<T>;
    const T one = all<T>(L(1));
    state[4] = on_screen(state[4] + (largest<3>(output) - L(1)));
    const T away = state[1] - state[5];
    const T towards = away > T{} ? one : (away < T{} ? -one : T{});
    const T follows = state[2] < T{} ? state[6] * towards : T{};
    state[5] = on_screen(state[5] + follows);
    state[6] = L(1) - state[6];

    const T moved = state[1] + state[3];
    const T row = bounced(moved);
    state[3] = row == moved ? state[3] : -state[3];
    state[1] = row;
    state[0] = state[0] + state[2];
    // At a bat's column the ball turns, or the point is over.
    const T right = state[0] >= all<T>(L(kScreenSide - 1)) ? one : T{};
    const T left = state[0] <= T{} ? one : T{};
    const T hit = row - (right > T{} ? state[4] : state[5]);
    const T missed = magnitude(hit) > one ? right + left : T{};
    const T turned = (right + left) - missed;
    state[2] = turned > T{} ? -state[2] : state[2];
    state[3] = turned > T{} ? hit : state[3];
    const T reward = missed > T{} ? left - right : T{};
    state[8] = state[8] + missed;
    T next[kStateSize];
    for (int i = 0; i < kStateSize; ++i) next[i] = state[i];
    serve(next, reward);
    for (int i = 0; i < kStateSize; ++i) state[i] = missed > T{} ? next[i] : state[i];
    return {reward, state[8] >= all<T>(L(kPoints))};
  }

 private:
  // Puts the ball into the middle, on its way to a side, -1 or 1.
  template <class T>
  EVONET_METHOD static void serve(T* state, T side) {
    using L = Lane<T>;
    T luck = state[7] * L(5) + L(347);  // modulo 1024: a cycle through all of them
    for (int i = 0; i < 5; ++i) luck = luck >= all<T>(L(1024)) ? luck - L(1024) : luck;
    state[7] = luck;
    T row = T{}, turn = all<T>(L(-1));
    for (int i = 1; i < kScreenSide; ++i) {
      row = luck >= all<T>(L(128 * i)) ? all<T>(L(i)) : row;
    }
    const T rest = luck - L(128) * row;
    turn = rest >= all<T>(L(43)) ? T{} : turn;
    turn = rest >= all<T>(L(86)) ? all<T>(L(1)) : turn;
    state[0] = all<T>(L(kScreenSide / 2 - 1)) + (side < T{} ? all<T>(L(1)) : T{});
    state[1] = row;
    state[2] = side;
    state[3] = turn;
  }
};

EVONET_NAMESPACE_END
