"""Gymnasium environments by name, run by kernels where evonet has the same one."""

from __future__ import annotations

from typing import Any, Final

from evonet.errors import OptionError
from evonet.tasks.base import Task
from evonet.tasks.control import Control
from evonet.tasks.gymnasium import GymnasiumTask

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
    """Makes a task of an environment; `BatchEvaluator.from_env` documents the arguments."""
    known = environment in NATIVE and not options
    if native and not known:
        why = "options are Gymnasium's" if environment in NATIVE else "no kernel runs it"
        raise OptionError(
            f"{environment}: native=True is impossible: {why}. Leave it out, or choose one of "
            f"{', '.join(NATIVE)} without options."
        )
    if known and native is not False:
        return Control(NATIVE[environment], episodes=episodes, max_steps=max_steps, retests=0)
    return GymnasiumTask(environment, episodes=episodes or 1, max_steps=max_steps, options=options)
