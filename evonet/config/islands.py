"""The [islands] table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from evonet.config.rules import Whole
from evonet.config.schema import Schema, setting

MOST_ISLANDS: Final = 1024


@dataclass(frozen=True, slots=True)
class IslandsTable(Schema):
    """Several populations that evolve apart, and exchange their best genomes now and then.

    Attributes:
        count: Islands, each with a population of neat.pop_size genomes; 1 for a single population.
        migrate_every: Generations from one migration to the next.
        migrants: How many of its best genomes each island copies to the next one, in a ring.
    """

    count: int = setting(Whole(1, MOST_ISLANDS), 1)
    migrate_every: int = setting(Whole(1), 10)
    migrants: int = setting(Whole(0), 2)
