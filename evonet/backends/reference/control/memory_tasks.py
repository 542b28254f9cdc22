"""Tasks that need memory, as in `kernels/control/memory_tasks.h`."""

from __future__ import annotations

from typing import Any

import numpy as np

from evonet.backends.reference.control.task import Step, Task, held, largest
from evonet.numerics.elementary import FloatArray

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
    off = _bit(state, state[0] - real(_BITS)) - held(output[0], 1)
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
    turn = largest(output) - real(1)
    ahead, at_junction = turn == 0, state[0] >= state[2]
    goes, turns = ahead & ~at_junction, ~ahead & at_junction
    bumps = ~goes & ~turns
    reward = (turns & (turn == state[1])).astype(state.dtype) - real(0.05) * bumps.astype(
        state.dtype
    )
    after = state.copy()
    after[0] += goes
    return Step(after, reward, turns)


TASKS: dict[str, Task] = {
    "copy": Task(_reset_copy, _step_copy, _observe_copy),
    "t_maze": Task(_reset_t_maze, _step_t_maze, _observe_t_maze),
}
