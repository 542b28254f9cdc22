"""Games that are seen as pixels, as in `kernels/control/pixel_games.h`."""

from __future__ import annotations

from typing import Any

import numpy as np

from evonet.backends.reference.control.task import Step, Task, between, largest
from evonet.numerics.elementary import FloatArray

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
    bat = between(bat + (largest(output) - real(1)), 0, _SIDE - 1)
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
    after[4] = between(state[4] + (largest(output) - real(1)), 0, _SIDE - 1)
    towards = np.sign(state[1] - state[5])
    follows = np.where(state[2] < 0, state[6] * towards, real(0))
    after[5] = between(state[5] + follows, 0, _SIDE - 1)
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


TASKS: dict[str, Task] = {
    "catch": Task(_reset_catch, _step_catch, _observe_catch),
    "pong": Task(_reset_pong, _step_pong, _observe_pong),
}
