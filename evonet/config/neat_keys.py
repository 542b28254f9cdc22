"""Where neat-python's INI files have each setting, and what they may leave out."""

from __future__ import annotations

from typing import Final, NamedTuple

SECTIONS: Final = {
    "NEAT": "neat",
    "DefaultGenome": "genome",
    "DefaultSpeciesSet": "speciation",
    "DefaultStagnation": "stagnation",
    "DefaultReproduction": "reproduction",
}
# neat-python's name for a setting, where ours differs.
RENAMED: Final = {
    "run.seed": ("NEAT", "seed"),
    "speciation.threshold": ("DefaultSpeciesSet", "compatibility_threshold"),
}
GENE_KEYS: Final = (
    *("init_mean", "init_stdev", "replace_rate", "mutate_rate", "mutate_power"),
    *("max_value", "min_value"),
)
# What neat-python 2.0 demands that a file sets.
DEMANDED: Final = frozenset(
    f"{table}.{key}"
    for table, keys in {
        "neat": ("pop_size", "fitness_criterion", "fitness_threshold", "reset_on_extinction"),
        "genome": (
            *("num_inputs", "num_outputs", "num_hidden", "feed_forward"),
            *("compatibility_disjoint_coefficient", "compatibility_weight_coefficient"),
            *("conn_add_prob", "conn_delete_prob", "node_add_prob", "node_delete_prob"),
            *("activation_options", "activation_mutate_rate"),
            *("aggregation_options", "aggregation_mutate_rate"),
            *("enabled_default", "enabled_mutate_rate"),
            *(f"{gene}_{key}" for gene in ("bias", "response", "weight") for key in GENE_KEYS),
        ),
        "speciation": ("threshold",),
    }.items()
    for key in keys
)
# The defaults of neat-python 2.1 for what a file may leave out, where ours differ. They are those
# of 2.0 and 1.x where these have the setting. One of ours departs from neat-python on purpose:
# single_structural_mutation is false, as documented and as in 0.92, while since 1.0 neat-python's
# default is the text "false", which its own code then takes for true.
DEFAULTS: Final[dict[str, object]] = {
    "genome.initial_connection": "unconnected",
    "genome.activation_default": "random",
    "genome.aggregation_default": "random",
    "stagnation.species_fitness_func": "mean",
    "stagnation.max_stagnation": 15,
    "stagnation.species_elitism": 0,
    "reproduction.elitism": 0,
    "reproduction.min_species_size": 1,
}


class Place(NamedTuple):
    """The place of a setting in a file."""

    section: str  # the name in brackets
    key: str  # the name before the equals sign

    def __str__(self) -> str:
        return f"[{self.section}] {self.key}"


def find_place(setting: str) -> Place | None:
    """Finds the place of a setting in a file; None for tables that only evonet has."""
    if setting in RENAMED:
        return Place(*RENAMED[setting])
    table, _, key = setting.partition(".")
    for section, owner in SECTIONS.items():
        if owner == table:
            return Place(section, key)
    return None
