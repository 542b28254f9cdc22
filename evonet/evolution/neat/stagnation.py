"""Stagnation: which species die because they make no progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evonet.config import StagnationTable
from evonet.evolution.neat.species import Scores, Species
from evonet.numerics.exact_sum import mean


class Verdict(NamedTuple):
    """What a generation means for its species.

    Attributes:
        species: All of them, in the order given, each with the score of this generation.
        survivors: Those that live on, worst first.
    """

    species: list[Species]
    survivors: list[Species]


def judge_species(
    species: list[Species], scores: Scores, generation: int, config: StagnationTable
) -> Verdict:
    """Scores each species, and drops those without progress.

    Args:
        species: By ascending key; they stay as they are.
        scores: [P] higher is better.
        generation: The generation that was scored.
        config: When a species stagnates, and how many are spared.
    """
    score_of = SCORE_OF_SPECIES[config.species_fitness_func]
    judged = [s.with_score(score_of(scores[s.members]), generation) for s in species]
    ranked = sorted(judged, key=lambda s: s.score_history[-1])
    survivors: list[Species] = []
    alive = len(ranked)
    for position, s in enumerate(ranked):
        spared = len(ranked) - position <= config.species_elitism
        stagnant = generation - s.last_improved >= config.max_stagnation
        if stagnant and not spared and alive > config.species_elitism:
            alive -= 1
        else:
            survivors.append(s)
    return Verdict(judged, survivors)


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
