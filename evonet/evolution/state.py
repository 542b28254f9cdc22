"""What every algorithm keeps from one generation to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.genes.genome import Genome
from evonet.genes.population import Population
from evonet.messages import number


@dataclass(frozen=True)
class Retest:
    """How a champion did in episodes that played no part in choosing it.

    Attributes:
        episodes: How many there were; their mean return is the champion's fitness.
        low: Lower end of the interval that holds the true mean return in 99 of 100 cases.
        high: Upper end of that interval.
        worst: The worst return among the episodes.
    """

    episodes: int
    low: float
    high: float
    worst: float

    def solves(self, threshold: float, sign: float) -> bool:
        """Whether the champion surely reaches a fitness.

        The whole interval must reach it, or else every single episode: no interval reaches the
        highest fitness that there is.

        Args:
            threshold: The fitness.
            sign: 1 if higher fitness is better, -1 if lower fitness is better.
        """
        end = min(sign * self.low, sign * self.high)
        return max(end, sign * self.worst) >= sign * threshold

    @property
    def half_width(self) -> float:
        """How far the ends of the interval are from its middle."""
        return self.high / 2 - self.low / 2

    def __str__(self) -> str:
        ends = f"{number(self.low, 4)} to {number(self.high, 4)}"
        return f"99 % interval {ends} over {self.episodes} fresh episodes"


@dataclass(frozen=True)
class Best:
    """The best genome so far.

    Attributes:
        population: A population of this one genome.
        fitness: What it scored: in its generation, or in its test if it has one.
        generation: The generation that found it.
        id: Its number.
        validation: Its score on what selects no parents, for tasks that have such a score.
        tested: Its test in fresh episodes; None for tasks without chance.
        task_state: What the task knew when the genome was scored, such as statistics of
            observations, by name.
        curves: How it learned before it was scored: "steps" and the "loss" after so many of them,
            and likewise "looks" and "validation"; empty for genomes that learned nothing.
    """

    population: Population
    fitness: float
    generation: int
    id: int
    validation: float | None = None
    tested: Retest | None = None
    task_state: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def genome(self) -> Genome:
        """The genome alone; `evonet.compile` and `save_champion` take it too."""
        return self.population[0]


def curves_of(curves: Mapping[str, npt.NDArray[Any]], genome: int) -> dict[str, list[float]]:
    """Picks how one genome learned from `Evaluation.curves`."""
    rows = {name: np.asarray(array[genome], np.float64) for name, array in curves.items()}
    return {name: row[np.isfinite(row)].tolist() for name, row in rows.items()}


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
