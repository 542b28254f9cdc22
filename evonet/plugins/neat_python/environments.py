"""Gymnasium environments by name, in kernels where evonet has the same one."""

from __future__ import annotations

from typing import Any, Final

from evonet.errors import OptionError
from evonet.tasks.base import Task
from evonet.tasks.control import Control
from evonet.tasks.gymnasium import gymnasium_task

# Control tasks with the dynamics, limits and rewards of an environment.
NATIVE: Final = {
    "CartPole-v1": "cartpole",
    "MountainCar-v0": "mountain_car",
    "MountainCarContinuous-v0": "mountain_car_continuous",
    "Pendulum-v1": "pendulum",
    "Acrobot-v1": "acrobot",
}


def environment_task(
    environment: str,
    episodes: int | None = None,
    max_steps: int | None = None,
    native: bool | None = None,
    options: dict[str, Any] | None = None,
) -> Task:
    """A Gymnasium environment as a task.

    Args:
        environment: What Gymnasium calls it.
        episodes: How many every genome plays; None for the task's default.
        max_steps: Where an episode is cut; None for the environment's own limit.
        native: Whether kernels play whole episodes; None does so where it is possible.
        options: Passed on to the environment, which then is Gymnasium's own.

    Raises:
        OptionError: There is no such environment, or no kernel plays it, or an option is out of
            range.
    """
    known = environment in NATIVE and not options
    if native and not known:
        why = "options are Gymnasium's" if environment in NATIVE else "no kernel plays it"
        raise OptionError(
            f"{environment}: native=True is impossible: {why}. Leave it out, or choose one of "
            f"{', '.join(NATIVE)} without options."
        )
    if known and native is not False:
        return Control(NATIVE[environment], episodes=episodes, max_steps=max_steps, trials=0)
    return gymnasium_task(environment, episodes=episodes, max_steps=max_steps, options=options)
