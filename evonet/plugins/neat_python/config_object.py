"""Reads a `neat.Config` as it is in memory, with what a script has changed or registered in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import neat

from evonet.config import Config
from evonet.config.neat_keys import SECTIONS, find_place
from evonet.config.schema import settings
from evonet.errors import EvonetError, OptionError
from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.functions.table import Functions
from evonet.plugins.neat_python.genes import NeatConfig
from evonet.plugins.neat_python.installed import built_in_activations, built_in_aggregations

# The classes whose rules evonet's loop follows, by the attribute of the config that has them.
FOLLOWED: Final = {
    "genome_type": neat.DefaultGenome,
    "reproduction_type": neat.DefaultReproduction,
    "species_set_type": neat.DefaultSpeciesSet,
    "stagnation_type": neat.DefaultStagnation,
}
# Where a `neat.Config` keeps the settings of a section; [NEAT] is the config itself.
HOLDERS: Final = {
    "DefaultGenome": "genome_config",
    "DefaultSpeciesSet": "species_set_config",
    "DefaultStagnation": "stagnation_config",
    "DefaultReproduction": "reproduction_config",
}


def read_config_object(config: NeatConfig) -> Config:
    """Makes a config of evonet's of a `neat.Config`, and registers its custom functions.

    Raises:
        OptionError: It has classes that evonet's loop would ignore, or functions that cannot be
            translated; names the line that registers one.
        ConfigError: Settings have faults; lists all of them.
    """
    _check_classes(config)
    register_functions(config)
    lines: list[str] = []
    places = [place for name in settings(Config) if (place := find_place(name))]
    for section in SECTIONS:
        holder = getattr(config, HOLDERS[section]) if section in HOLDERS else config
        lines.append(f"[{section}]")
        for key in (place.key for place in places if place.section == section):
            value = getattr(holder, key, None)
            if value is not None:
                lines.append(f"{key} = {_written(holder, key, value)}")
    return Config.loads("\n".join(lines), "ini", source="the neat.Config")


def _written(holder: Any, key: str, value: object) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    fraction = getattr(holder, "connection_fraction", None)
    if key == "initial_connection" and fraction is not None:
        return f"{value} {fraction}"
    return str(value)


def _check_classes(config: NeatConfig) -> None:
    for name, followed in FOLLOWED.items():
        found = getattr(config, name)
        if found is not followed:
            raise OptionError(
                f"{name} of the config is {found.__name__}: evonet's loop follows the rules of "
                f"{followed.__name__} alone. Keep neat-python's loop, and make evaluation fast: "
                "neat.Population(config).run(BatchEvaluator...)."
            )


def register_functions(config: NeatConfig) -> None:
    """Registers what a config's genes may use and neat-python does not have.

    Raises:
        OptionError: A function cannot be translated; names the line that registers it.
    """
    genome = config.genome_config
    kinds: Iterable[tuple[str, Functions, Any, Any]] = (
        ("activation", ACTIVATION_TABLE, genome.activation_defs, built_in_activations()),
        (
            "aggregation",
            AGGREGATION_TABLE,
            genome.aggregation_function_defs,
            built_in_aggregations(),
        ),
    )
    for kind, table, defined, built_in in kinds:
        used = [*getattr(genome, f"{kind}_options"), getattr(genome, f"{kind}_default")]
        for name in dict.fromkeys(used):
            function = defined.functions.get(name)
            if function is None or function is built_in.get(name):
                continue
            try:
                table.register(name, function)
            except EvonetError as error:
                if table.ids.get(name, -1) >= table.num_builtin:
                    continue  # somebody has registered an expression by that name
                raise OptionError(
                    f'{kind} "{name}" of the config cannot be translated: {error}\n'
                    f'Register it as an expression before: evonet.register_{kind}("{name}", "...")'
                ) from error
