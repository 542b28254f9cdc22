"""The [neat] table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evonet.config.rules import Flag, Maybe, OneOf, Real, Whole
from evonet.config.schema import Schema, setting


@dataclass(frozen=True, slots=True)
class NeatTable(Schema):
    """The population, and when evolution is done.

    Attributes:
        pop_size: Genomes per generation.
        fitness_criterion: Which fitness of a generation is compared with the threshold.
        fitness_threshold: The fitness that ends evolution; None takes the task's, and if that has
            none, evolution ends after all generations.
        reset_on_extinction: Start again when all species die out, instead of stopping.
        no_fitness_termination: Ignore the threshold and run all generations.
    """

    pop_size: int = setting(Whole(1), 150)
    fitness_criterion: Literal["max", "min", "mean"] = setting(OneOf("max", "min", "mean"), "max")
    fitness_threshold: float | None = setting(Maybe(Real()), None)
    reset_on_extinction: bool = setting(Flag(), False)
    no_fitness_termination: bool = setting(Flag(), False)
