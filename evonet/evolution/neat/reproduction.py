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
    sizes = [len(s.members) for s in species]
    elitism, surviving = config.elitism, config.survival_threshold
    kept = [min(elitism, amount, n) for amount, n in zip(amounts, sizes, strict=True)]
    parents = [min(n, max(2, math.ceil(surviving * n))) for n in sizes]
    children = [amount - elites for amount, elites in zip(amounts, kept, strict=True)]
    shares = MatingShares(
        members,
        starts,
        np.array(kept),
        np.array(parents),
        np.array(children),
        config.interspecies_crossover_prob,
    )
    return MatingPlan(species, *engine.mate(scores, shares, seed, generation))


def share_out(
    scores: Scores, starts: Indices, pop_size: int, least: int, config: ReproductionTable
) -> list[int]:
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
    means = [mean * 2.0**-64 for mean in group_means(scores, starts)]
    if config.fitness_sharing == "canonical":
        lowest = min(means)
        shift = -lowest + 1e-6 * 2.0**-64 if lowest < 0 else 0.0
        adjusted = [m + shift for m in means]
    else:
        low, high = float(scores.min()) * 2.0**-64, float(scores.max()) * 2.0**-64
        adjusted = [(m - low) / max(2.0**-64, high - low) for m in means]
    total = math.fsum(adjusted)
    shares = [max(float(least), a / total * pop_size if total > 0 else 0.0) for a in adjusted]
    if config.spawn_method == "proportional":
        amounts = [round(share) for share in shares]
    else:
        sizes = np.diff(starts).tolist()
        amounts = [_half_way(size, share) for size, share in zip(sizes, shares, strict=True)]
        norm = pop_size / sum(amounts)
        amounts = [max(least, round(amount * norm)) for amount in amounts]
    return _settle(amounts, pop_size, least)


def _half_way(size: int, share: float) -> int:
    """Moves a species half the way to its share, and by at least one."""
    step = (share - size) * 0.5
    if round(step) != 0:
        return size + round(step)
    return size + (step > 0) - (step < 0)


def _settle(amounts: list[int], pop_size: int, least: int) -> list[int]:
    """Adds to the smallest or takes from the largest, one by one, until the sum is right."""
    missing = pop_size - sum(amounts)
    order = sorted(range(len(amounts)), key=amounts.__getitem__, reverse=missing < 0)
    while missing:
        for i in order:
            if missing > 0:
                amounts[i] += 1
                missing -= 1
            elif missing < 0 and amounts[i] > least:
                amounts[i] -= 1
                missing += 1
    return amounts
