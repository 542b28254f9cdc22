"""Settings that suit a task better than the general defaults, where a config is silent.

The settings of a config win over them. The table belongs to the config, not to the tasks, so that
a file means the same whether or not tasks were imported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from evonet.config.rules import Conflict
from evonet.definitions.controls import CONTROLS

# A single output pushes to either side; sigmoid has only positive values.
BOTH_SIDES: Final[Mapping[str, object]] = {
    "genome.activation_default": "tanh",
    "genome.activation_options": ("tanh",),
}
# Targets may be any number; tanh bends the line that identity alone would fit.
ANY_NUMBER: Final[Mapping[str, object]] = {
    "genome.activation_default": "random",
    "genome.activation_options": ("identity", "tanh"),
    "genome.activation_mutate_rate": 0.05,
}

# The settings of each task by their names in a TOML file; `evonet.tasks.register` adds to it.
TASK_DEFAULTS: Final[dict[str, Mapping[str, object]]] = {
    "regression": ANY_NUMBER,
    **{control.name: BOTH_SIDES for control in CONTROLS if control.num_outputs == 1},
    "gym:": BOTH_SIDES,  # all names that start so
}


def task_defaults(
    task: object, given: Collection[str], conflicts: Iterable[Conflict]
) -> dict[str, object]:
    """Returns the defaults of a task for the settings that a config does not give.

    A setting that can conflict with one that was given has its general default instead, so that a
    file with other functions has no fault about a function that it does not name.
    """
    own: Mapping[str, object] = {}
    if isinstance(task, str):
        prefix, colon, _ = task.partition(":")
        own = TASK_DEFAULTS.get(task) or TASK_DEFAULTS.get(prefix + colon, {})
    taken = set(given)
    for key, other, *_ in conflicts:
        if key in given or other in given:
            taken |= {key, other}
    return {name: value for name, value in own.items() if name not in taken}
