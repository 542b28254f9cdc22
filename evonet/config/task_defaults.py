"""Settings that suit a task better than the general defaults, where a config is silent.

Whatever a config says wins. The table is part of the config, not of the tasks, so that a file reads
the same whether or not tasks were imported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from evonet.config.rules import Conflict
from evonet.definitions.controls import CONTROLS

# A single output pushes to either side, and sigmoid knows only one.
BOTH_SIDES: Final[Mapping[str, object]] = {
    "genome.activation_default": "tanh",
    "genome.activation_options": ("tanh",),
}
# Targets may be any number; tanh is there to bend the line that identity alone would fit.
ANY_NUMBER: Final[Mapping[str, object]] = {
    "genome.activation_default": "random",
    "genome.activation_options": ("identity", "tanh"),
    "genome.activation_mutate_rate": 0.05,
}

# The settings of each task by their names in a TOML file; `evonet.tasks.register` adds to it.
TASK_DEFAULTS: Final[dict[str, Mapping[str, object]]] = {
    "regression": ANY_NUMBER,
    **{control.name: BOTH_SIDES for control in CONTROLS if control.num_outputs == 1},
}


def task_defaults(
    task: object, given: Collection[str], conflicts: Iterable[Conflict]
) -> dict[str, object]:
    """What a task sets in a config that says less.

    A setting that can conflict with one that was given has its general default instead: whoever
    chooses other functions gets no fault about a function that the file does not name.

    Args:
        task: The name of the task, or whatever else stands in its place.
        given: The settings that the config has.
        conflicts: All that is impossible among settings.
    """
    lent = TASK_DEFAULTS.get(task, {}) if isinstance(task, str) else {}
    taken = set(given)
    for key, other, *_ in conflicts:
        if key in given or other in given:
            taken |= {key, other}
    return {name: value for name, value in lent.items() if name not in taken}
