"""The control tasks that backends can run as whole episodes.

`kernels/control/controls.def` lists them; a task's id is its position there. The formulas are in
`kernels/control/`, and their NumPy twins in `evonet/backends/reference/control/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from evonet.definitions.reader import read_list
from evonet.errors import OptionError
from evonet.messages import did_you_mean


@dataclass(frozen=True, slots=True)
class ControlTask:
    """A control task, as backends and configs need to know it.

    Attributes:
        name: What users write.
        state_size: S, the numbers in a state.
        num_inputs: I, the numbers that a network sees.
        num_outputs: O. With several outputs the largest one is the action, the first of equals; a
            single output is clipped to -1..1.
        max_steps: The largest number of steps in an episode.
        solved: The mean return at which the task counts as solved, or None.
        random_start: Whether episodes start differently.
        summary: A one-line description.
    """

    name: str
    state_size: int
    num_inputs: int
    num_outputs: int
    max_steps: int
    solved: float | None
    random_start: bool
    summary: str


def _read(
    name: str, _: str, states: str, inputs: str, outputs: str, steps: str, *rest: str
) -> ControlTask:
    solved, random_start, summary = rest
    return ControlTask(
        name,
        int(states),
        int(inputs),
        int(outputs),
        int(steps),
        None if solved == "none" else float(solved),
        random_start == "true",
        summary,
    )


CONTROLS: Final = tuple(_read(*task) for task in read_list("control/controls.def", "control"))
CONTROL_IDS: Final = {control.name: i for i, control in enumerate(CONTROLS)}


def find_control(name: str) -> ControlTask:
    """Looks up a control task.

    Raises:
        OptionError: No task has that name.
    """
    if name not in CONTROL_IDS:
        hint = did_you_mean(str(name), CONTROL_IDS)
        raise OptionError(f"{name!r} is not a control task. {hint}")
    return CONTROLS[CONTROL_IDS[name]]
