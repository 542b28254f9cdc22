"""The NumPy twin of `kernels/control/`: the same operations in the same order.

States, inputs and outputs have a column per episode. The headers name the sources of the formulas.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evonet.backends.reference.control import mechanics, memory_tasks, pixel_games
from evonet.backends.reference.control.task import Step, Task
from evonet.numerics.elementary import FloatArray
from evonet.numerics.philox import Purpose, philox, uniform

_TASKS: dict[str, Task] = {**mechanics.TASKS, **memory_tasks.TASKS, **pixel_games.TASKS}


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
