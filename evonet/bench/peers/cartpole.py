"""CartPole in NumPy, a step of all carts at once, and in plain Python, one cart."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

STEPS = 500
_LIMIT, _TILT = 2.4, math.radians(12)


def play_together(answer: Callable[[Any], Any], start: npt.NDArray[np.float64]) -> int:
    """Plays one episode per genome, all of them step by step, and returns the steps of all.

    Args:
        answer: Maps observations [P, 4] to outputs [P, 2].
        start: [4, P] the first place, speed, angle and turn.
    """
    state, playing, steps = start.copy(), np.ones(start.shape[1], bool), 0
    for _ in range(STEPS):
        outputs = answer(state.T)
        steps += int(playing.sum())
        _, speed, angle, turn = state
        sin, cos = np.sin(angle), np.cos(angle)
        force = np.where(outputs[:, 1] > outputs[:, 0], 10.0, -10.0)
        push = (force + 0.05 * turn**2 * sin) / 1.1
        turning = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        speeding = push - 0.05 * turning * cos / 1.1
        state = state + 0.02 * np.stack([speed, speeding, turn, turning])
        playing &= ~((abs(state[0]) > _LIMIT) | (abs(state[2]) > _TILT))
        if not playing.any():
            break
    return steps


def play_alone(activate: Callable[[Any], Any], start: list[float]) -> int:
    """Plays one episode in plain Python, and returns the number of steps.

    Args:
        activate: Maps four numbers to two.
        start: The first state.
    """
    x, speed, angle, turn = start
    for step in range(1, STEPS + 1):
        left, right = activate((x, speed, angle, turn))
        sin, cos = math.sin(angle), math.cos(angle)
        push = ((10.0 if right > left else -10.0) + 0.05 * turn * turn * sin) / 1.1
        turning = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
        speeding = push - 0.05 * turning * cos / 1.1
        x, speed = x + 0.02 * speed, speed + 0.02 * speeding
        angle, turn = angle + 0.02 * turn, turn + 0.02 * turning
        if abs(x) > _LIMIT or abs(angle) > _TILT:
            return step
    return STEPS
