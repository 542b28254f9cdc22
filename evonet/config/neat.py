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
        fitness_criterion: Which of a generation's fitness values is held against the threshold.
        fitness_threshold: Where evolution is done; None leaves it to the task, and without one
            there to the number of generations.
        reset_on_extinction: Begin anew when all species die out, instead of stopping.
        no_fitness_termination: Ignore the threshold and run all generations.
    """

    pop_size: int = setting(Whole(1), 150)
    fitness_criterion: Literal["max", "min", "mean"] = setting(OneOf("max", "min", "mean"), "max")
    fitness_threshold: float | None = setting(Maybe(Real()), None)
    reset_on_extinction: bool = setting(Flag(), False)
    no_fitness_termination: bool = setting(Flag(), False)
