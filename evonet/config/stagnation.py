"""The [stagnation] table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evonet.config.rules import OneOf, Whole
from evonet.config.schema import Schema, setting


@dataclass(frozen=True, slots=True)
class StagnationTable(Schema):
    """Which species die out.

    Attributes:
        species_fitness_func: The fitness of a species, from those of its members. "median" takes
            the upper of two middle values, "median2" their mean.
        max_stagnation: Generations without improvement that a species survives.
        species_elitism: The number of best species that never die out.
    """

    species_fitness_func: Literal["max", "min", "mean", "median", "median2"] = setting(
        OneOf("max", "min", "mean", "median", "median2"), "max"
    )
    max_stagnation: int = setting(Whole(0), 20)
    species_elitism: int = setting(Whole(0), 2)
