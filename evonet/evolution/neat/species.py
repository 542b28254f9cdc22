"""Species: who belongs together, and whether they still make progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from evonet.config import Stagnation
from evonet.numerics.exact_sum import exact_sum

Scores = npt.NDArray[np.float64]


@dataclass
class Species:
    """Genomes that are close to each other.

    Attributes:
        key: Its number, counted from 1 over the whole run.
        created: The generation that founded it.
        last_improved: The last generation in which its score rose.
        members: Positions of its genomes in the population, ascending.
        representative: Position of the genome that stands for it.
        score_history: Its score in each generation since it was founded.
    """

    key: int
    created: int
    last_improved: int
    members: npt.NDArray[np.int64]
    representative: int
    score_history: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.members)


def mean(values: Scores) -> float:
    """The mean, rounded once, so that it does not depend on how a machine adds."""
    try:
        return exact_sum(values) / len(values)
    except OverflowError:  # a sum of scores near 1e308; their mean is finite
        return exact_sum(values / len(values))


def _median(values: Scores) -> float:
    return float(np.sort(values)[len(values) // 2])


def _median2(values: Scores) -> float:
    ordered = np.sort(values)
    low, high = ordered[(len(values) - 1) // 2], ordered[len(values) // 2]
    return float(low / 2.0 + high / 2.0)


SCORE_OF_SPECIES: dict[str, Callable[[Scores], float]] = {
    "max": lambda values: float(values.max()),
    "min": lambda values: float(values.min()),
    "mean": mean,
    "median": _median,
    "median2": _median2,
}


def survivors_of_stagnation(
    species: list[Species], scores: Scores, generation: int, config: Stagnation
) -> list[Species]:
    """Updates each species' history and drops those without progress.

    Args:
        species: By ascending key.
        scores: [P] higher is better.
        generation: The generation that was scored.
        config: When a species stagnates, and how many are spared.

    Returns:
        The species that go on, worst first.
    """
    score_of = SCORE_OF_SPECIES[config.species_fitness_func]
    for s in species:
        score = score_of(scores[s.members])
        if not s.score_history or score > max(s.score_history):
            s.last_improved = generation
        s.score_history.append(score)
    ranked = sorted(species, key=lambda s: s.score_history[-1])
    going_on: list[Species] = []
    alive = len(ranked)
    for position, s in enumerate(ranked):
        spared = len(ranked) - position <= config.species_elitism
        stagnant = generation - s.last_improved >= config.max_stagnation
        if stagnant and not spared and alive > config.species_elitism:
            alive -= 1
        else:
            going_on.append(s)
    return going_on
