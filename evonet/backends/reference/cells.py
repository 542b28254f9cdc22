"""The NumPy twin of `kernels/nodes/cells.h`: how a step of a network with memory ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.reference.functions import preactivation
from evonet.numerics.elementary import canonical

if TYPE_CHECKING:
    from evonet.definitions.dynamics import Dynamics


def settle(
    dynamics: Dynamics,
    value: npt.NDArray[Any],
    state: npt.NDArray[Any],
    cell: npt.NDArray[Any],
) -> None:
    """Updates the states [C, n, B] of cells with parameters [n, c] by their nodes' values.

    `value` is [n, B] what the nodes computed, and becomes what they output.
    """
    with np.errstate(all="ignore"):
        if dynamics.kind == "ctrnn":
            kept = cell[:, :1]
            # The product with 1 - kept is rounded first; the rest is one multiply-add.
            every = np.broadcast_to(kept, value.shape)
            value[:] = canonical(preactivation((1 - kept) * value, every, state[0]))
        elif dynamics.kind == "izhikevich":
            _fire(value, state, cell, value.dtype.type(dynamics.time_step))
        if dynamics.has_memory:
            state[0] = value


def _fire(
    value: npt.NDArray[Any], state: npt.NDArray[Any], cell: npt.NDArray[Any], step: Any
) -> None:
    real = value.dtype.type
    a, b, c, d = (cell[:, i : i + 1] for i in range(4))
    v, u = state[1], state[2]
    half = real(0.5) * step
    for _ in range(2):
        v = v + half * (real(0.04) * (v * v) + real(5) * v + real(140) - u + value)
    u = u + step * a * (b * v - u)
    finite = (v - v) + (u - u) == 0
    v = np.where(finite, v, c)
    u = np.where(finite, u, b * c)
    fires = v > 30
    value[:] = fires
    state[1] = np.where(fires, c, v)
    state[2] = np.where(fires, u + d, u)
