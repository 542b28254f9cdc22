"""Carts, poles and pendulums: one part for each header."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evonet.backends.reference.control.task import (
    Flags,
    Step,
    Task,
    between,
    drawn,
    held,
    largest,
    runge_kutta,
    wrapped,
)
from evonet.numerics.elementary import FloatArray, cosine, sine

# ---- kernels/control/cartpole.h ----


def _reset_cartpole(unit: FloatArray, real: Any) -> FloatArray:
    return drawn(unit, -0.05, 0.05)


def _step_cartpole(state: FloatArray, output: FloatArray) -> Step:
    real = state.dtype.type
    position, speed, angle, turn = state
    seconds, total_mass, moment = real(0.02), real(1.1), real(0.05)
    sin, cos = sine(angle), cosine(angle)
    force = largest(output) * real(20) - real(10)
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
    return np.stack([drawn(unit[0], -0.6, -0.4), np.zeros_like(unit[0])])


def _drive(state: FloatArray, acceleration: FloatArray, goal: float) -> tuple[FloatArray, Flags]:
    real = state.dtype.type
    pull = acceleration - real(0.0025) * cosine(real(3) * state[0])
    speed = held(state[1] + pull, 0.07)
    position = between(state[0] + speed, -1.2, 0.6)
    speed = np.where((position == real(-1.2)) & (speed < 0), real(0), speed)
    return np.stack([position, speed]), (position >= real(goal)) & (speed >= 0)


def _step_mountain_car(state: FloatArray, output: FloatArray) -> Step:
    real = state.dtype.type
    after, ended = _drive(state, real(0.001) * (largest(output) - real(1)), 0.5)
    return Step(after, np.full_like(after[0], -1), ended)


def _step_mountain_car_continuous(state: FloatArray, output: FloatArray) -> Step:
    real = state.dtype.type
    throttle = held(output[0], 1)
    after, ended = _drive(state, real(0.0015) * throttle, 0.45)
    prize = np.where(ended, real(100), real(0))
    return Step(after, prize - real(0.1) * (throttle * throttle), ended)


# ---- kernels/control/pendulum.h ----


def _reset_pendulum(unit: FloatArray, real: Any) -> FloatArray:
    return np.stack([drawn(unit[0], -np.pi, np.pi), drawn(unit[1], -1, 1)])


def _observe_pendulum(state: FloatArray) -> FloatArray:
    return np.stack([cosine(state[0]), sine(state[0]), state[1]])


def _step_pendulum(state: FloatArray, output: FloatArray) -> Step:
    real = state.dtype.type
    angle, turn = state
    torque = held(output[0], 1) * real(2)
    cost = (angle * angle + real(0.1) * (turn * turn)) + real(0.001) * (torque * torque)
    turning = real(15) * sine(angle) + real(3) * torque
    turn = held(turn + turning * real(0.05), 8)
    after = np.stack([wrapped(angle + turn * real(0.05)), turn])
    return Step(after, -cost, np.zeros(cost.shape, bool))


# ---- kernels/control/acrobot.h ----


def _reset_acrobot(unit: FloatArray, real: Any) -> FloatArray:
    return drawn(unit, -0.1, 0.1)


def _observe_acrobot(state: FloatArray) -> FloatArray:
    first, second = state[0], state[1]
    return np.stack([cosine(first), sine(first), cosine(second), sine(second), *state[2:]])


def _step_acrobot(state: FloatArray, output: FloatArray) -> Step:
    real = state.dtype.type
    torque = largest(output) - real(1)

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

    moved = runge_kutta(state, 0.2, derive)
    after = np.stack(
        [
            wrapped(moved[0]),
            wrapped(moved[1]),
            held(moved[2], 4 * np.pi),
            held(moved[3], 9 * np.pi),
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
        force = held(output[0], 1) * real(10)
        for _ in range(2):
            state = runge_kutta(state, 0.01, lambda y: _derive_poles(y, force, count))
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


_POLE, _BOTH_POLES = (_reset_poles(1), _step_poles(1)), (_reset_poles(2), _step_poles(2))
TASKS: dict[str, Task] = {
    "cartpole": Task(_reset_cartpole, _step_cartpole),
    "mountain_car": Task(_reset_mountain_car, _step_mountain_car),
    "mountain_car_continuous": Task(_reset_mountain_car, _step_mountain_car_continuous),
    "pendulum": Task(_reset_pendulum, _step_pendulum, _observe_pendulum),
    "acrobot": Task(_reset_acrobot, _step_acrobot, _observe_acrobot),
    "single_pole": Task(*_POLE, _observe_poles(True)),
    "single_pole_no_velocities": Task(*_POLE, _observe_poles(False)),
    "double_pole": Task(*_BOTH_POLES, _observe_poles(True)),
    "double_pole_no_velocities": Task(*_BOTH_POLES, _observe_poles(False)),
}
