"""The [reproduction] table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evonet.config.rules import PROBABILITY, OneOf, Real, Whole
from evonet.config.schema import Schema, setting


@dataclass(frozen=True, slots=True)
class ReproductionTable(Schema):
    """How many children each species has, and who are the parents.

    Attributes:
        elitism: The number of best genomes of a species that survive unchanged.
        survival_threshold: The fraction of a species that may become parents.
        min_species_size: The fewest genomes of a species.
        fitness_sharing: How species fitness is compared: scaled to the population's range, or
            divided by species size as in the NEAT paper.
        spawn_method: Whether species sizes move halfway, or at once, to their new size.
        interspecies_crossover_prob: Probability that the second parent is from another species.
    """

    elitism: int = setting(Whole(0), 2)
    survival_threshold: float = setting(Real(above=0.0, most=1.0), 0.2)
    min_species_size: int = setting(Whole(0), 2)
    fitness_sharing: Literal["normalized", "canonical"] = setting(
        OneOf("normalized", "canonical"), "normalized"
    )
    spawn_method: Literal["smoothed", "proportional"] = setting(
        OneOf("smoothed", "proportional"), "smoothed"
    )
    interspecies_crossover_prob: float = setting(PROBABILITY, 0.0)
