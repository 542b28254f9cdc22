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
# Environments by others, in which a good network falls apart by one wild step: weights move by
# half of what they usually do and are rarely drawn anew, links stay on, and structure changes in
# one child of five, not in most of them. About eight species, whose elites are scored again in
# every generation, keep several ways to act apart until luck averages out. Outputs are weighted
# sums, as the largest of several bent ones is lost where all of them are 1.
ENVIRONMENT: Final[Mapping[str, object]] = {
    **BOTH_SIDES,
    "run.generations": 1000,
    "network.output_activation": "identity",
    "genome.conn_add_prob": 0.1,
    "genome.conn_delete_prob": 0.05,
    "genome.node_add_prob": 0.05,
    "genome.node_delete_prob": 0.02,
    "speciation.threshold": 1.5,
    "speciation.target_num_species": 8,
    "genome.weight_mutate_power": 0.25,
    "genome.weight_replace_rate": 0.02,
    "genome.bias_mutate_power": 0.25,
    "genome.bias_replace_rate": 0.02,
    "genome.enabled_mutate_rate": 0.0,
    "reproduction.elitism": 5,
    "stagnation.max_stagnation": 40,
}
# Tables of examples, measured with 4 to 576 inputs by `python -m tests.campaigns.tables`. Outputs
# are numbers of any size, or go into a softmax, so they start as weighted sums; a node that splits
# a link changes nothing until tanh bends it. Weights grow from 0 by small steps in few places at a
# time, as a genome has hundreds; none is drawn anew or switched off. Half of the genomes become
# parents, since fitness changes with the batch. Structure changes rarely, or small tables are
# learnt by heart. The validation part ends the run.
TABLE: Final[Mapping[str, object]] = {
    "run.generations": 1000,
    "run.patience": 100,
    "neat.pop_size": 500,
    "genome.activation_default": "identity",
    "genome.activation_options": ("identity", "tanh"),
    "genome.activation_mutate_rate": 0.01,
    "genome.weight_init_stdev": 0.0,
    "genome.weight_replace_rate": 0.0,
    "genome.weight_mutate_rate": 0.05,
    "genome.weight_mutate_power": 0.05,
    "genome.bias_init_stdev": 0.0,
    "genome.bias_replace_rate": 0.0,
    "genome.bias_mutate_rate": 0.05,
    "genome.bias_mutate_power": 0.05,
    "genome.enabled_mutate_rate": 0.0,
    "genome.conn_add_prob": 0.02,
    "genome.conn_delete_prob": 0.02,
    "genome.node_add_prob": 0.005,
    "genome.node_delete_prob": 0.0025,
    "reproduction.survival_threshold": 0.5,
}
# One output has few links, so more of them change at a time; and numbers are noisier than classes,
# so that more genomes have to prove themselves on several batches.
ONE_OUTPUT: Final[Mapping[str, object]] = {
    **TABLE,
    "genome.weight_mutate_rate": 0.2,
    "genome.bias_mutate_rate": 0.2,
    "reproduction.elitism": 10,
}

# Tables whose networks learn, chosen on the validation parts of several splits. Gradients find the
# weights, so that mutation is for structure alone and 50 genomes are enough; what is learned is
# inherited. Outputs are weighted sums of bent nodes, whose first links are a random half of all.
# Weight decay keeps genomes from learning small tables by heart while they learn for generations.
LEARNED_TABLE: Final[Mapping[str, object]] = {
    "run.generations": 150,
    "run.patience": 30,
    "neat.pop_size": 50,
    "network.output_activation": "identity",
    "genome.num_hidden": 32,
    "genome.initial_connection": "partial_nodirect 0.5",
    "genome.activation_default": "tanh",
    "genome.activation_options": ("tanh",),
    "genome.activation_mutate_rate": 0.0,
    "genome.weight_init_stdev": 0.1,
    "genome.weight_mutate_rate": 0.0,
    "genome.bias_mutate_rate": 0.0,
    "learning.steps": 30,
    "learning.optimizer": "adamw",
    "learning.rate": 0.005,
    "learning.decay": 1.0,
    "learning.batch": 64,
}
# Numbers are noisier: a few bent nodes beside a linear model, and the validation part stops it.
LEARNED_NUMBERS: Final[Mapping[str, object]] = {
    **LEARNED_TABLE,
    "genome.num_hidden": 8,
    "genome.initial_connection": "full_direct",
    "genome.weight_init_stdev": 0.05,
    "learning.patience": 1,
    "learning.check_every": 5,
}
# The features of a front are bent already, so that outputs start as weighted sums of all of them.
LEARNED_IMAGES: Final[Mapping[str, object]] = {
    **LEARNED_TABLE,
    "genome.num_hidden": 0,
    "genome.initial_connection": "full_direct",
}
_CLASSES: Final = ("classification", "iris", "wine", "breast_cancer", "digits", "images")
# What a task has besides or instead while its networks learn; learning.steps = 0 leaves it out.
LEARNING_DEFAULTS: Final[dict[str, Mapping[str, object]]] = {
    **dict.fromkeys(_CLASSES, LEARNED_TABLE),
    **dict.fromkeys(("regression", "diabetes"), LEARNED_NUMBERS),
    "images": LEARNED_IMAGES,
}

# The settings of each task by their names in a TOML file; `evonet.tasks.register` adds to it.
TASK_DEFAULTS: Final[dict[str, Mapping[str, object]]] = {
    **dict.fromkeys(_CLASSES, TABLE),
    **dict.fromkeys(("regression", "diabetes"), ONE_OUTPUT),
    **{control.name: BOTH_SIDES for control in CONTROLS if control.num_outputs == 1},
    **dict.fromkeys(("gym:", "minatar:", "jax:"), ENVIRONMENT),  # all names that start so
}


def task_defaults(
    task: object,
    given: Mapping[str, object],
    unreadable: Collection[str],
    conflicts: Iterable[Conflict],
) -> dict[str, object]:
    """Returns the defaults of a task for the settings that a config does not give.

    One that conflicts with a setting that was given has its general default instead, so that a
    file with other functions has no fault about a function that it does not name.

    Args:
        task: The name of the task, if it has one.
        given: Settings of the config by name, not checked yet.
        unreadable: Names of settings whose values could not be read.
        conflicts: Settings that may be impossible together.
    """
    found: Mapping[str, object] = {}
    if isinstance(task, str):
        prefix, colon, _ = task.partition(":")
        found = TASK_DEFAULTS.get(task) or TASK_DEFAULTS.get(prefix + colon, {})
        if given.get("learning.steps") != 0 and "learning.steps" not in unreadable:
            found = {**found, **LEARNING_DEFAULTS.get(task, {})}
    own = {name: found[name] for name in found if name not in given and name not in unreadable}
    for conflict in conflicts:
        for name, partner in ((conflict.key, conflict.other), (conflict.other, conflict.key)):
            if name in own and (
                partner in unreadable or (partner in given and _clashes(conflict, {**own, **given}))
            ):
                del own[name]
    return own


def _clashes(conflict: Conflict, values: Mapping[str, object]) -> bool:
    """Whether two settings conflict; also if one of them is not even of the right type."""
    try:
        return conflict.clash(values[conflict.key], values[conflict.other])
    except TypeError:
        return True
