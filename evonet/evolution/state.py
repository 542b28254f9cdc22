"""What every algorithm keeps from one generation to the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evonet.genes.population import Population


@dataclass(frozen=True)
class Best:
    """The best genome so far.

    Attributes:
        genome: A population of this one genome.
        fitness: What it scored.
        generation: The generation that found it.
        id: Its number.
        validation: Its score on what selects no parents, for tasks that have such a score.
    """

    genome: Population
    fitness: float
    generation: int
    id: int
    validation: float | None = None


@dataclass(kw_only=True)
class State:
    """All that changes while evolution runs; what a checkpoint holds.

    Attributes:
        population: The current generation.
        ids: [P] number of each genome, ascending.
        generation: Counted from 0.
        next_id: The next genome's number.
        next_node_key: The next node's key.
        next_innovation: The next connection's number.
        fitness: [P] of the current generation once it was told.
        best: The best genome so far.
        validation: The score of this generation's fittest genome on what selects no parents, once
            it was told and if the task has such a score; checkpoints do without.
    """

    population: Population
    ids: npt.NDArray[np.int64]
    generation: int
    next_id: int
    next_node_key: int
    next_innovation: int
    fitness: npt.NDArray[np.float64] | None = None
    best: Best | None = None
    validation: float | None = None
