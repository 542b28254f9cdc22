"""The NumPy twin of `kernels/control/`: the same operations in the same order.

States, inputs and outputs have a column per episode. The headers name the sources of the formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evonet.numerics.elementary import FloatArray, cosine, sine
from evonet.numerics.philox import Purpose, philox, uniform

Flags = NDArray[np.bool_]


class Step(NamedTuple):
    """The result of a step."""

    state: FloatArray  # [S, E] the states after it
    reward: FloatArray  # [E] the rewards
    ended: Flags  # [E] whether the episode has ended


class _Task(NamedTuple):
    reset: Callable[[FloatArray, Any], FloatArray]
    step: Callable[[FloatArray, FloatArray], Step]
    observe: Callable[[FloatArray], FloatArray] = lambda state: state


def reset(name: str, seed: int, episodes: NDArray[Any], dtype: np.dtype[Any]) -> FloatArray:
    """Returns the initial states [S, E] of episodes, given their numbers [E]."""
    words = philox(seed, 0, np.asarray(episodes, np.uint64), Purpose.EPISODE, 0)
    drawn = uniform(words).astype(dtype)
    return _TASKS[name].reset(drawn, dtype.type)


def observe(name: str, state: FloatArray) -> FloatArray:
    """Returns the observations [I, E] of states [S, E]."""
    return _TASKS[name].observe(state)


def step(name: str, state: FloatArray, output: FloatArray) -> Step:
    """Applies outputs [O, E] to states [S, E]."""
    with np.errstate(all="ignore"):
        return _TASKS[name].step(state, output)


# ---- kernels/control/control.h ----


def _largest(output: FloatArray) -> FloatArray:
    best, chosen = output[0], np.zeros_like(output[0])
    for i in range(1, len(output)):
        larger = output[i] > best
        chosen = np.where(larger, chosen.dtype.type(i), chosen)
        best = np.where(larger, output[i], best)
    number: FloatArray = chosen
    return number


def _between(x: FloatArray, low: float, high: float) -> FloatArray:
    """Clips as Python's min and max do: a NaN becomes the upper limit."""
    real = x.dtype.type
    x = np.where(x < real(high), x, real(high))
    held: FloatArray = np.where(x > real(low), x, real(low))
    return held


def _held(x: FloatArray, limit: float) -> FloatArray:
    return _between(x, -limit, limit)


def _drawn(unit: FloatArray, low: float, high: float) -> FloatArray:
    real = unit.dtype.type
    drawn: FloatArray = real(low) + (real(high) - real(low)) * unit
    return drawn


def _wrapped(x: FloatArray) -> FloatArray:
    real = x.dtype.type
    turns = x * real(0.15915494309189535)
    if x.dtype == np.float32:
        k = (turns + real(12582912)) - real(12582912)
        wrapped: FloatArray = (x - k * real(6.28125)) - k * real(0.0019353071795864769)
    else:
        k = (turns + 6755399441055744.0) - 6755399441055744.0
        wrapped = x - k * 6.283185307179586
    return wrapped


def _runge_kutta(
    y: FloatArray, seconds: float, derive: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    real = y.dtype.type
    whole, half = real(seconds), real(0.5) * real(seconds)
    slope = [derive(y)]
    slope.append(derive(y + half * slope[0]))
    slope.append(derive(y + half * slope[1]))
    slope.append(derive(y + whole * slope[2]))
    twice = real(2) * slope[1] + real(2) * slope[2]
    after: FloatArray = y + (whole / real(6)) * ((slope[0] + twice) + slope[3])
    return after


# ---- kernels/control/cartpole.h ----


def _reset_cartpole(unit: FloatArray, real: Any) -> FloatArray:
    return _drawn(unit, -0.05, 0.05)


def _step_cartpole(state: FloatArray, output: FloatArray) -> Step:
    real = state.dtype.type
    position, speed, angle, turn = state
    seconds, total_mass, moment = real(0.02), real(1.1), real(0.05)
    sin, cos = sine(angle), cosine(angle)
    force = _largest(output) * real(20) - real(10)
    push = (force + (moment * (turn * turn)) * sin) * (real(1) / total_mass)
    inertia = real(0.5) * (real(4 / 3) - (real(0.1) / total_mass) * (cos * cos))
    turning = (real(9.8) * sin - cos * push) / inertia
    speeding = push - (moment / total_mass) * (turning * cos)
    after = np.stack(
        [
            position + seconds * speed,
            speed + seconds * speeding,
            angle + seconds * turn,
            turn + seconds * turning,
        ]
    )
    ended = (abs(after[0]) > real(2.4)) | (abs(after[2]) > real(0.20943951023931953))
    return Step(after, np.ones_like(speed), ended)


# ---- kernels/control/mountain_car.h ----


def _reset_mountain_car(unit: FloatArray, real: Any) -> FloatArray:
    return np.stack([_drawn(unit[0], -0.6, -0.4), np.zeros_like(unit[0])])


def _drive(state: FloatArray, acceleration: FloatArray, goal: float) -> tuple[FloatArray, Flags]:
    real = state.dtype.type
    pull = acceleration - real(0.0025) * cosine(real(3) * state[0])
    speed = _held(state[1] + pull, 0.07)
    position = _between(state[0] + speed, -1.2, 0.6)
    speed = np.where((position == real(-1.2)) & (speed < 0), real(0), speed)
    return np.stack([position, speed]), (position >= real(goal)) & (speed >= 0)


def _step_mountain_car(state: FloatArray, output: FloatArray) -> Step:
    real = state.dtype.type
    after, ended = _drive(state, real(0.001) * (_largest(output) - real(1)), 0.5)
    return Step(after, np.full_like(after[0], -1), ended)


def _step_mountain_car_continuous(state: FloatArray, output: FloatArray) -> Step:
    real = state.dtype.type
    throttle = _held(output[0], 1)
    after, ended = _drive(state, real(0.0015) * throttle, 0.45)
    prize = np.where(ended, real(100), real(0))
    return Step(after, prize - real(0.1) * (throttle * throttle), ended)


# ---- kernels/control/pendulum.h ----


def _reset_pendulum(unit: FloatArray, real: Any) -> FloatArray:
    return np.stack([_drawn(unit[0], -np.pi, np.pi), _drawn(unit[1], -1, 1)])


def _observe_pendulum(state: FloatArray) -> FloatArray:
    return np.stack([cosine(state[0]), sine(state[0]), state[1]])


def _step_pendulum(state: FloatArray, output: FloatArray) -> Step:
    real = state.dtype.type
    angle, turn = state
    torque = _held(output[0], 1) * real(2)
    cost = (angle * angle + real(0.1) * (turn * turn)) + real(0.001) * (torque * torque)
    turning = real(15) * sine(angle) + real(3) * torque
    turn = _held(turn + turning * real(0.05), 8)
    after = np.stack([_wrapped(angle + turn * real(0.05)), turn])
    return Step(after, -cost, np.zeros(cost.shape, bool))


# ---- kernels/control/acrobot.h ----


def _reset_acrobot(unit: FloatArray, real: Any) -> FloatArray:
    return _drawn(unit, -0.1, 0.1)


def _observe_acrobot(state: FloatArray) -> FloatArray:
    first, second = state[0], state[1]
    return np.stack([cosine(first), sine(first), cosine(second), sine(second), *state[2:]])


def _step_acrobot(state: FloatArray, output: FloatArray) -> Step:
    real = state.dtype.type
    torque = _largest(output) - real(1)

    def derive(y: FloatArray) -> FloatArray:
        sin, cos = sine(y[1]), cosine(y[1])
        d1, d2 = cos + real(3.5), real(0.5) * cos + real(1.25)
        phi2 = real(4.9) * sine(y[0] + y[1])
        swing = (real(0.5) * y[3] + y[2]) * y[3]
        phi1 = (real(14.7) * sine(y[0]) - swing * sin) + phi2
        share = d2 / d1
        pull = ((torque + share * phi1) - (real(0.5) * (y[2] * y[2])) * sin) - phi2
        turning = pull / (real(1.25) - share * d2)
        return np.stack([y[2], y[3], -((d2 * turning + phi1) / d1), turning])

    moved = _runge_kutta(state, 0.2, derive)
    after = np.stack(
        [
            _wrapped(moved[0]),
            _wrapped(moved[1]),
            _held(moved[2], 4 * np.pi),
            _held(moved[3], 9 * np.pi),
        ]
    )
    height = -cosine(after[0]) - cosine(after[1] + after[0])
    ended = height > real(1)
    return Step(after, np.where(ended, real(0), real(-1)), ended)


# ---- kernels/control/pole_balancing.h ----

_POLES = ((0.1, 0.5), (0.01, 0.05))  # mass, half length


def _reset_poles(count: int) -> Callable[[FloatArray, Any], FloatArray]:
    def reset(unit: FloatArray, real: Any) -> FloatArray:
        state = np.zeros((2 + 2 * count, unit.shape[1]), unit.dtype)
        state[2] = real(0.06981317007977318)
        return state

    return reset


def _observe_poles(speeds: bool) -> Callable[[FloatArray], FloatArray]:
    def observe(state: FloatArray) -> FloatArray:
        real = state.dtype.type
        scaled = state * real(0.5)
        scaled[::2] = state[::2] * real(1 / 0.52)
        scaled[0] = state[0] * real(1 / 4.8)
        return scaled if speeds else scaled[::2]

    return observe


def _step_poles(count: int) -> Callable[[FloatArray, FloatArray], Step]:
    steepest = np.pi / 15 if count == 1 else np.pi / 5

    def step(state: FloatArray, output: FloatArray) -> Step:
        real = state.dtype.type
        force = _held(output[0], 1) * real(10)
        for _ in range(2):
            state = _runge_kutta(state, 0.01, lambda y: _derive_poles(y, force, count))
        ended = abs(state[0]) > real(2.4)
        for pole in range(count):
            ended = ended | (abs(state[2 + 2 * pole]) > real(steepest))
        return Step(state, np.ones_like(force), ended)

    return step


def _derive_poles(y: FloatArray, force: FloatArray, count: int) -> FloatArray:
    real = y.dtype.type
    forces, masses = force, np.ones_like(force)
    cosines, weights = [], []
    for pole, (mass, half_length) in enumerate(_POLES[:count]):
        sin, cos, turn = sine(y[2 + 2 * pole]), cosine(y[2 + 2 * pole]), y[3 + 2 * pole]
        moment = real(mass) * real(half_length)
        weight = (real(0.000002) / moment) * turn + real(-9.8) * sin
        forces = forces + moment * ((turn * turn) * sin)
        forces = forces + (real(0.75) * real(mass)) * (cos * weight)
        masses = masses + real(mass) * (real(1) - real(0.75) * (cos * cos))
        cosines.append(cos)
        weights.append(weight)
    speeding = forces / masses
    slope = [y[1], speeding]
    for pole, (_, half_length) in enumerate(_POLES[:count]):
        turning = (real(-0.75) / real(half_length)) * (speeding * cosines[pole] + weights[pole])
        slope += [y[3 + 2 * pole], turning]
    return np.stack(slope)


# ---- kernels/control/memory_tasks.h ----

_BITS = 3


def _reset_copy(unit: FloatArray, real: Any) -> FloatArray:
    bits = np.where(unit[:_BITS] < real(0.5), real(-1), real(1))
    return np.concatenate([np.zeros_like(bits[:1]), bits])


def _bit(state: FloatArray, number: FloatArray) -> FloatArray:
    found: FloatArray = state[1]
    for i in range(1, _BITS):
        found = np.where(number >= i, state[1 + i], found)
    return found


def _observe_copy(state: FloatArray) -> FloatArray:
    speaks = state[0] >= _BITS
    zero = state.dtype.type(0)
    return np.stack([np.where(speaks, zero, _bit(state, state[0])), speaks.astype(state.dtype)])


def _step_copy(state: FloatArray, output: FloatArray) -> Step:
    real = state.dtype.type
    off = _bit(state, state[0] - real(_BITS)) - _held(output[0], 1)
    score = real(1 / _BITS) - real(0.25 / _BITS) * (off * off)
    after = state.copy()
    after[0] += real(1)
    return Step(after, np.where(state[0] >= _BITS, score, real(0)), after[0] >= 2 * _BITS)


def _reset_t_maze(unit: FloatArray, real: Any) -> FloatArray:
    length = np.full_like(unit[0], 3)
    for i in range(1, 8):
        length = np.where(unit[1] >= real(i) / real(8), real(3 + i), length)
    side = np.where(unit[0] < real(0.5), real(-1), real(1))
    return np.stack([np.zeros_like(side), side, length])


def _observe_t_maze(state: FloatArray) -> FloatArray:
    zero = state.dtype.type(0)
    sign = np.where(state[0] <= 0, state[1], zero)
    return np.stack([sign, (state[0] >= state[2]).astype(state.dtype)])


def _step_t_maze(state: FloatArray, output: FloatArray) -> Step:
    real = state.dtype.type
    turn = _largest(output) - real(1)
    ahead, at_junction = turn == 0, state[0] >= state[2]
    goes, turns = ahead & ~at_junction, ~ahead & at_junction
    bumps = ~goes & ~turns
    reward = (turns & (turn == state[1])).astype(state.dtype) - real(0.05) * bumps.astype(
        state.dtype
    )
    after = state.copy()
    after[0] += goes
    return Step(after, reward, turns)


# ---- kernels/control/pixel_games.h ----

_SIDE = 8


def _chosen(count: int, share: FloatArray) -> FloatArray:
    real = share.dtype.type
    chosen: FloatArray = np.zeros_like(share)
    for i in range(1, count):
        chosen = np.where(share >= real(i) / real(count), real(i), chosen)
    return chosen


def _bounced(x: FloatArray) -> FloatArray:
    real = x.dtype.type
    x = np.abs(x)
    bounced: FloatArray = np.where(x > _SIDE - 1, real(2 * (_SIDE - 1)) - x, x)
    return bounced


def _screen(row: FloatArray, column: FloatArray, bats: FloatArray) -> FloatArray:
    """A screen [I, E] with a ball, and bats [row, column, E] in its second channel."""
    real = row.dtype.type
    pixels = np.arange(_SIDE).astype(row.dtype)
    ball = (row == pixels[:, None])[:, None] & (column == pixels[:, None])[None]
    screen: FloatArray = np.stack([ball.astype(row.dtype), bats]).reshape(-1, len(row))
    return screen * real(1)


def _reset_catch(unit: FloatArray, real: Any) -> FloatArray:
    column, drift, bat = _chosen(_SIDE, unit[0]), _chosen(3, unit[1]), _chosen(_SIDE, unit[2])
    return np.stack([np.zeros_like(column), column, drift - real(1), bat])


def _observe_catch(state: FloatArray) -> FloatArray:
    bats = np.zeros((_SIDE, _SIDE, state.shape[1]), state.dtype)
    bats[-1] = np.abs(state[3] - np.arange(_SIDE).astype(state.dtype)[:, None]) <= 1
    return _screen(state[0], state[1], bats)


def _step_catch(state: FloatArray, output: FloatArray) -> Step:
    real = state.dtype.type
    row, column, drift, bat = state
    bat = _between(bat + (_largest(output) - real(1)), 0, _SIDE - 1)
    moved = column + drift
    column = _bounced(moved)
    drift = np.where(column == moved, drift, -drift)
    row = row + real(1)
    ends = row >= _SIDE - 1
    caught = np.where(np.abs(column - bat) <= 1, real(1), real(-1))
    return Step(np.stack([row, column, drift, bat]), np.where(ends, caught, real(0)), ends)


def _serve(state: FloatArray, side: FloatArray) -> FloatArray:
    real = state.dtype.type
    luck = state[7] * real(5) + real(347)
    for _ in range(5):
        luck = np.where(luck >= 1024, luck - real(1024), luck)
    row = np.zeros_like(luck)
    for i in range(1, _SIDE):
        row = np.where(luck >= 128 * i, real(i), row)
    rest = luck - real(128) * row
    turn = np.where(rest >= 86, real(1), np.where(rest >= 43, real(0), real(-1)))
    served = state.copy()
    served[0] = real(_SIDE // 2 - 1) + (side < 0)
    served[1], served[2], served[3], served[7] = row, side, turn, luck
    return served


def _reset_pong(unit: FloatArray, real: Any) -> FloatArray:
    state = np.zeros((9, unit.shape[1]), unit.dtype)
    state[4], state[5] = _chosen(_SIDE, unit[0]), _chosen(_SIDE, unit[1])
    state[7] = _chosen(1024, unit[2])
    return _serve(state, np.where(unit[3] < real(0.5), real(-1), real(1)))


def _observe_pong(state: FloatArray) -> FloatArray:
    bats = np.zeros((_SIDE, _SIDE, state.shape[1]), state.dtype)
    rows = np.arange(_SIDE).astype(state.dtype)[:, None]
    bats[:, 0] = np.abs(state[5] - rows) <= 1
    bats[:, -1] = np.abs(state[4] - rows) <= 1
    return _screen(state[1], state[0], bats)


def _step_pong(state: FloatArray, output: FloatArray) -> Step:
    real = state.dtype.type
    after = state.copy()
    after[4] = _between(state[4] + (_largest(output) - real(1)), 0, _SIDE - 1)
    towards = np.sign(state[1] - state[5])
    follows = np.where(state[2] < 0, state[6] * towards, real(0))
    after[5] = _between(state[5] + follows, 0, _SIDE - 1)
    after[6] = real(1) - state[6]
    moved = state[1] + state[3]
    row = _bounced(moved)
    after[3] = np.where(row == moved, state[3], -state[3])
    after[1] = row
    after[0] = state[0] + state[2]
    right, left = after[0] >= _SIDE - 1, after[0] <= 0
    hit = row - np.where(right, after[4], after[5])
    missed = (right | left) & (np.abs(hit) > 1)
    turned = (right | left) & ~missed
    after[2] = np.where(turned, -after[2], after[2])
    after[3] = np.where(turned, hit, after[3])
    reward = np.where(missed, left.astype(row.dtype) - right.astype(row.dtype), real(0))
    after[8] += missed
    after = np.where(missed, _serve(after, reward), after)
    return Step(after, reward, after[8] >= 5)


_POLE, _BOTH_POLES = (_reset_poles(1), _step_poles(1)), (_reset_poles(2), _step_poles(2))
_TASKS: dict[str, _Task] = {
    "cartpole": _Task(_reset_cartpole, _step_cartpole),
    "mountain_car": _Task(_reset_mountain_car, _step_mountain_car),
    "mountain_car_continuous": _Task(_reset_mountain_car, _step_mountain_car_continuous),
    "pendulum": _Task(_reset_pendulum, _step_pendulum, _observe_pendulum),
    "acrobot": _Task(_reset_acrobot, _step_acrobot, _observe_acrobot),
    "single_pole": _Task(*_POLE, _observe_poles(True)),
    "single_pole_no_velocities": _Task(*_POLE, _observe_poles(False)),
    "double_pole": _Task(*_BOTH_POLES, _observe_poles(True)),
    "double_pole_no_velocities": _Task(*_BOTH_POLES, _observe_poles(False)),
    "copy": _Task(_reset_copy, _step_copy, _observe_copy),
    "t_maze": _Task(_reset_t_maze, _step_t_maze, _observe_t_maze),
    "catch": _Task(_reset_catch, _step_catch, _observe_catch),
    "pong": _Task(_reset_pong, _step_pong, _observe_pong),
}
