"""The one list of control tasks that backends can run as whole episodes.

A task's formulas are in `kernels/control/`; `evonet/backends/reference/control.py`
tells them again in NumPy. A task's id is its position here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from evonet.errors import OptionError
from evonet.messages import did_you_mean


@dataclass(frozen=True, slots=True)
class ControlTask:
    """What is known about a control task before anything runs.

    Attributes:
        name: What users write.
        state_size: S, the numbers that a state consists of.
        num_inputs: I, what a network sees.
        num_outputs: O. With several the largest output is the action, the first of equals; a
            single one is held between -1 and 1.
        max_steps: How long an episode may last.
        solved: The mean return from which on the task counts as solved, or None.
        random_start: Whether episodes begin differently.
        summary: One line about it.
    """

    name: str
    state_size: int
    num_inputs: int
    num_outputs: int
    max_steps: int
    solved: float | None
    random_start: bool
    summary: str


CONTROLS: Final = (
    ControlTask(
        "cartpole", 4, 4, 2, 500, 475.0, True, "keep a pole upright on a cart; as CartPole-v1"
    ),
    ControlTask(
        "mountain_car", 2, 2, 3, 200, -110.0, True, "swing a weak car up a hill; as MountainCar-v0"
    ),
    ControlTask(
        "mountain_car_continuous",
        2,
        2,
        1,
        999,
        90.0,
        True,
        "the same with a throttle, and fuel costs; as MountainCarContinuous-v0",
    ),
    ControlTask(
        "pendulum", 2, 3, 1, 200, None, True, "swing a pendulum up and hold it; as Pendulum-v1"
    ),
    ControlTask(
        "acrobot", 4, 6, 3, 500, -100.0, True, "swing two links above their bar; as Acrobot-v1"
    ),
    ControlTask(
        "single_pole", 4, 4, 1, 100_000, 100_000.0, False, "balance a pole by pushing its cart"
    ),
    ControlTask(
        "single_pole_no_velocities",
        4,
        2,
        1,
        100_000,
        100_000.0,
        False,
        "the same without seeing speeds",
    ),
    ControlTask(
        "double_pole",
        6,
        6,
        1,
        100_000,
        100_000.0,
        False,
        "balance two poles of different length on one cart",
    ),
    ControlTask(
        "double_pole_no_velocities",
        6,
        3,
        1,
        100_000,
        100_000.0,
        False,
        "the same without seeing speeds",
    ),
    ControlTask("copy", 4, 2, 1, 6, 0.98, True, "hear three bits, then say them; needs memory"),
    ControlTask(
        "t_maze", 3, 2, 3, 40, 0.99, True, "turn to where a sign showed before; needs memory"
    ),
)
CONTROL_IDS: Final = {control.name: i for i, control in enumerate(CONTROLS)}


def find_control(name: str) -> ControlTask:
    """Looks a control task up.

    Raises:
        OptionError: There is none of that name.
    """
    if name not in CONTROL_IDS:
        hint = did_you_mean(str(name), CONTROL_IDS)
        raise OptionError(f"{name!r} is not a control task. {hint}")
    return CONTROLS[CONTROL_IDS[name]]
