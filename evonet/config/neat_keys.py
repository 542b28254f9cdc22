"""Where neat-python's INI files keep each setting, and what they may leave out."""

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
# What a file may leave out, and what that means: the defaults of neat-python 2.1, which are those
# of 2.0 and 1.x where these have the setting.
DEFAULTS: Final[dict[str, object]] = {
    "run.seed": 0,
    "neat.no_fitness_termination": False,
    "genome.compatibility_excess_coefficient": "auto",
    "genome.compatibility_include_node_genes": True,
    "genome.compatibility_enable_penalty": 1.0,
    # As documented, and as in 0.92. Since 1.0 neat-python's default is the text "false", which
    # its own code then takes for true.
    "genome.single_structural_mutation": False,
    "genome.structural_mutation_surer": "default",
    "genome.initial_connection": "unconnected",
    "genome.bias_init_type": "gaussian",
    "genome.response_init_type": "gaussian",
    "genome.weight_init_type": "gaussian",
    "genome.time_constant_init_mean": 1.0,
    "genome.time_constant_init_stdev": 0.0,
    "genome.time_constant_init_type": "gaussian",
    "genome.time_constant_replace_rate": 0.0,
    "genome.time_constant_mutate_rate": 0.0,
    "genome.time_constant_mutate_power": 0.0,
    "genome.time_constant_max_value": 10.0,
    "genome.time_constant_min_value": 0.01,
    "genome.activation_default": "random",
    "genome.aggregation_default": "random",
    "genome.enabled_rate_to_true_add": 0.0,
    "genome.enabled_rate_to_false_add": 0.0,
    "speciation.target_num_species": None,
    "speciation.threshold_adjust_rate": 0.1,
    "speciation.threshold_min": 0.1,
    "speciation.threshold_max": 100.0,
    "stagnation.species_fitness_func": "mean",
    "stagnation.max_stagnation": 15,
    "stagnation.species_elitism": 0,
    "reproduction.elitism": 0,
    "reproduction.survival_threshold": 0.2,
    "reproduction.min_species_size": 1,
    "reproduction.fitness_sharing": "normalized",
    "reproduction.spawn_method": "smoothed",
    "reproduction.interspecies_crossover_prob": 0.0,
}


class Place(NamedTuple):
    """Where a setting stands in a file.

    Attributes:
        section: The name in brackets.
        key: The name before the equals sign.
    """

    section: str
    key: str

    def __str__(self) -> str:
        return f"[{self.section}] {self.key}"


def find_place(setting: str) -> Place | None:
    """Finds where files keep a setting, or None for settings that only evonet has.

    Args:
        setting: Its flat name, such as "neat.pop_size".
    """
    if setting in RENAMED:
        return Place(*RENAMED[setting])
    table, _, key = setting.partition(".")
    for section, owner in SECTIONS.items():
        if owner == table:
            return Place(section, key)
    return None
