"""The [speciation] table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evonet.config.rules import NOT_NEGATIVE, Conflict, Or, Whole, at_most
from evonet.config.schema import Schema, setting


@dataclass(frozen=True, slots=True)
class SpeciationTable(Schema):
    """How genomes are divided into species.

    Attributes:
        threshold: Genomes nearer than this share a species.
        target_num_species: Move the threshold towards this many species; None leaves it alone.
        threshold_adjust_rate: How far the threshold moves per generation.
        threshold_min: The lowest threshold.
        threshold_max: The highest threshold.
    """

    threshold: float = setting(NOT_NEGATIVE, 3.0)
    target_num_species: int | None = setting(Or(Whole(1), {"none": None}), None)
    threshold_adjust_rate: float = setting(NOT_NEGATIVE, 0.1)
    threshold_min: float = setting(NOT_NEGATIVE, 0.1)
    threshold_max: float = setting(NOT_NEGATIVE, 100.0)

    conflicts: ClassVar[tuple[Conflict, ...]] = (at_most("threshold_min", "threshold_max"),)
