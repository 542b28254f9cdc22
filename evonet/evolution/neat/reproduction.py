"""Who has how many children with whom."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evonet.backends.genetics import Engine
from evonet.config import ReproductionTable
from evonet.evolution.neat.species import Scores, Species, join_members
from evonet.genes.mating import Indices, MatingShares
from evonet.numerics.exact_sum import group_means


@dataclass(frozen=True)
class MatingPlan:
    """The next generation, before it is bred: elites first, then children.

    Attributes:
        species: Those that have a share in it, worst first.
        fitter: [P] position of the better parent.
        other: [P] position of the other parent; -1 for an elite, which is a copy.
    """

    species: list[Species]
    fitter: Indices
    other: Indices

    @property
    def num_elites(self) -> int:
        """How many genomes pass on unchanged."""
        return int(np.count_nonzero(self.other < 0))


def plan_mating(
    species: list[Species],
    scores: Scores,
    pop_size: int,
    config: ReproductionTable,
    seed: int,
    generation: int,
    engine: Engine,
) -> MatingPlan:
    """Shares out the next generation among species and picks parents.

    Args:
        species: Those that survive, at least one, worst first.
        scores: [P] higher is better.
        pop_size: Genomes of the next generation.
        config: How to share.
        seed: The run's seed.
        generation: The generation that is being bred.
        engine: What ranks genomes and draws parents.
    """
    least = max(config.min_species_size, config.elitism, 1)
    least = min(least, pop_size)
    # neat-python gives up where the minima exceed the population; here the worst species do.
    species = species[max(0, len(species) - pop_size // least) :]
    members, starts = join_members(species)
    amounts = share_out(scores[members], starts, pop_size, least, config)
    sizes = np.diff(starts)
    kept = np.minimum(np.minimum(amounts, config.elitism), sizes)
    best = np.ceil(config.survival_threshold * sizes).astype(np.int64)
    parents = np.minimum(sizes, np.maximum(best, 2))
    shares = MatingShares(
        members, starts, kept, parents, amounts - kept, config.interspecies_crossover_prob
    )
    return MatingPlan(species, *engine.mate(scores, shares, seed, generation))


def share_out(
    scores: Scores, starts: Indices, pop_size: int, least: int, config: ReproductionTable
) -> Indices:
    """Shares out the next generation.

    Args:
        scores: Those of the species' members, species by species.
        starts: [S + 1] where each species begins in them.
        pop_size: Genomes of the next generation.
        least: Genomes that each species has in it.
        config: How to share.

    Returns:
        [S] genomes per species, exactly pop_size in all.
    """
    # Only ratios matter. Powers of two leave them alone, and sums of huge scores stay finite.
    means = np.array(group_means(scores, starts)) * 2.0**-64
    if config.fitness_sharing == "canonical":
        lowest = means.min()
        adjusted = means + (1e-6 * 2.0**-64 - lowest if lowest < 0 else 0.0)
    else:
        low, high = scores.min() * 2.0**-64, scores.max() * 2.0**-64
        adjusted = (means - low) / max(2.0**-64, high - low)
    total = math.fsum(adjusted.tolist())
    shares = np.maximum(
        adjusted / total * pop_size if total > 0 else np.zeros_like(adjusted), least
    )
    if config.spawn_method == "proportional":
        amounts = np.rint(shares)
    else:
        sizes = np.diff(starts)
        amounts = _half_way(sizes, shares)
        norm = pop_size / amounts.sum()
        amounts = np.maximum(np.rint(amounts * norm), least)
    return _settle(amounts.astype(np.int64), pop_size, least)


def _half_way(sizes: Indices, shares: Scores) -> Scores:
    """Moves species half the way to their shares, and by at least one."""
    steps = (shares - sizes) * 0.5
    whole = np.rint(steps)
    moved: Scores = np.add(sizes, np.where(whole != 0, whole, np.sign(steps)), dtype=np.float64)
    return moved


def _settle(amounts: Indices, pop_size: int, least: int) -> Indices:
    """Adds to the smallest or takes from the largest, one by one, until the sum is right."""
    missing = pop_size - int(amounts.sum())
    if missing == 0:
        return amounts
    left = amounts.tolist()
    order = sorted(range(len(left)), key=left.__getitem__, reverse=missing < 0)
    while missing:
        for i in order:
            if missing > 0:
                left[i] += 1
                missing -= 1
            elif missing < 0 and left[i] > least:
                left[i] -= 1
                missing += 1
    return np.array(left)
