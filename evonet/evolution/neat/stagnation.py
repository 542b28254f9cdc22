"""Stagnation: which species die because they make no progress."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from evonet.config import StagnationTable
from evonet.evolution.neat.species import Scores, Species, join_members
from evonet.genes.mating import Indices
from evonet.numerics.exact_sum import group_means


class Verdict(NamedTuple):
    """What a generation means for its species.

    Attributes:
        species: All of them, in the order given, each with the score of this generation.
        survivors: Those that live on, worst first.
        highest: The highest score in each of the species.
    """

    species: list[Species]
    survivors: list[Species]
    highest: list[float]


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
    members, starts = join_members(species)
    grouped = scores[members]
    best = highest(grouped, starts)
    score_of = SCORES_OF_SPECIES[config.species_fitness_func]
    found = best if score_of is highest else score_of(grouped, starts)
    judged = [s.with_score(score, generation) for s, score in zip(species, found, strict=True)]
    ranked = sorted(range(len(judged)), key=found.__getitem__)
    survivors: list[Species] = []
    alive, spared, latest = len(ranked), config.species_elitism, generation - config.max_stagnation
    for position, i in enumerate(ranked):
        s = judged[i]
        if s.last_improved <= latest and len(ranked) - position > spared and alive > spared:
            alive -= 1
        else:
            survivors.append(s)
    return Verdict(judged, survivors, best)


def highest(values: Scores, starts: Indices) -> list[float]:
    """The highest value of each group; see `SCORES_OF_SPECIES`."""
    found: list[float] = np.maximum.reduceat(values, starts[:-1]).tolist()
    return found


def _lowest(values: Scores, starts: Indices) -> list[float]:
    found: list[float] = np.minimum.reduceat(values, starts[:-1]).tolist()
    return found


def _medians(values: Scores, starts: Indices) -> list[float]:
    ordered = (np.sort(values[a:b]) for a, b in pairwise(starts.tolist()))
    return [float(group[len(group) // 2]) for group in ordered]


def _means_of_medians(values: Scores, starts: Indices) -> list[float]:
    ordered = (np.sort(values[a:b]) for a, b in pairwise(starts.tolist()))
    return [
        float(group[(len(group) - 1) // 2] / 2.0 + group[len(group) // 2] / 2.0)
        for group in ordered
    ]


# Each takes the scores of all members, species by species, and where those of each species begin,
# [S + 1]; no species is empty.
SCORES_OF_SPECIES: dict[str, Callable[[Scores, Indices], list[float]]] = {
    "max": highest,
    "min": _lowest,
    "mean": group_means,
    "median": _medians,
    "median2": _means_of_medians,
}
