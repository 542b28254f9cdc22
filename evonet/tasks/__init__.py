"""Tasks: what networks are evolved on.

By name:
    make_task("cartpole", episodes=10), task_from_config, register, TASKS
From parts:
    Control, Supervised, Stepwise with a custom World
"""

from __future__ import annotations

from evonet.tasks.base import Task
from evonet.tasks.control import Control
from evonet.tasks.registry import TASKS, RegisteredTask, make_task, register, task_from_config
from evonet.tasks.stepwise import Stepwise, World
from evonet.tasks.supervised import Supervised, parity, xor
from evonet.tasks.tabular import classification, regression

__all__ = [
    "TASKS",
    "Control",
    "RegisteredTask",
    "Stepwise",
    "Supervised",
    "Task",
    "World",
    "classification",
    "make_task",
    "parity",
    "register",
    "regression",
    "task_from_config",
    "xor",
]
