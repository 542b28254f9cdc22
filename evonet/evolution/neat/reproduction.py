"""Who has how many children with whom."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evonet.config import ReproductionTable
from evonet.evolution.neat.species import Scores, Species
from evonet.numerics.exact_sum import mean
from evonet.numerics.philox import Purpose, choose, philox, philox_of_children, uniform

Indices = npt.NDArray[np.int64]


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
) -> MatingPlan:
    """Shares out the next generation among species and picks parents.

    Args:
        species: Those that survive, at least one, worst first.
        scores: [P] higher is better.
        pop_size: Genomes of the next generation.
        config: How to share.
        seed: The run's seed.
        generation: The generation that is being bred.
    """
    least = max(config.min_species_size, config.elitism, 1)
    least = min(least, pop_size)
    # neat-python gives up where the minima exceed the population; here the worst species do.
    species = species[max(0, len(species) - pop_size // least) :]
    amounts = share_out(species, scores, pop_size, least, config)

    elites: list[Indices] = []
    pools: list[Indices] = []  # who may become a parent, per species
    num_children: list[int] = []
    for s, amount in zip(species, amounts, strict=True):
        # Ids ascend with positions: of equals the youngest comes first, as in neat-python.
        ranked = s.members[np.argsort(scores[s.members], kind="stable")[::-1]]
        kept = min(config.elitism, amount, len(ranked))
        elites.append(ranked[:kept])
        cutoff = max(2, math.ceil(config.survival_threshold * len(ranked)))
        pools.append(ranked[:cutoff])
        num_children.append(amount - kept)

    elite = np.sort(np.concatenate(elites))
    first, second = pick_parents(
        species,
        pools,
        num_children,
        len(elite),
        config.interspecies_crossover_prob,
        seed,
        generation,
    )
    first_is_fitter = scores[first] > scores[second]  # ties favour the second, as in neat-python
    return MatingPlan(
        species,
        np.concatenate([elite, np.where(first_is_fitter, first, second)]),
        np.concatenate([np.full(len(elite), -1), np.where(first_is_fitter, second, first)]),
    )


def pick_parents(
    species: list[Species],
    pools: list[Indices],
    num_children: list[int],
    first_child: int,
    interspecies: float,
    seed: int,
    generation: int,
) -> tuple[Indices, Indices]:
    """Draws both parents of every child.

    Args:
        species: S species.
        pools: [S] possible parents of each.
        num_children: [S] children of each.
        first_child: Position of the first child in the new population.
        interspecies: Probability that the second parent is of another species.
        seed: The run's seed.
        generation: The generation that is being bred.
    """
    home = np.repeat(np.arange(len(species)), num_children)
    child = first_child + np.arange(len(home))
    words = philox_of_children(seed, generation, first_child, len(home), Purpose.PARENTS, 0)
    start = np.cumsum([0, *map(len, pools)])
    size = np.diff(start)
    pool = np.concatenate(pools)
    first = pool[start[home] + choose(words[0], size[home])]
    second = pool[start[home] + choose(words[1], size[home])]
    if interspecies > 0 and len(species) > 1:
        away = np.flatnonzero(uniform(words[2]) < np.float32(interspecies))
        foreign = choose(words[3][away], len(species) - 1)
        foreign += foreign >= home[away]
        members_start = np.cumsum([0, *map(len, species)])
        members = np.concatenate([s.members for s in species])
        more = philox(seed, generation, child[away], Purpose.PARENTS, 1)
        picked = choose(more[0], np.diff(members_start)[foreign])
        second[away] = members[members_start[foreign] + picked]
    return first, second


def share_out(
    species: list[Species], scores: Scores, pop_size: int, least: int, config: ReproductionTable
) -> list[int]:
    """Children per species, exactly pop_size in all and at least `least` each."""
    # Only ratios matter. Powers of two leave them alone, and sums of huge scores stay finite.
    means = [mean(scores[s.members]) * 2.0**-64 for s in species]
    if config.fitness_sharing == "canonical":
        lowest = min(means)
        shift = -lowest + 1e-6 * 2.0**-64 if lowest < 0 else 0.0
        adjusted = [m + shift for m in means]
    else:
        scaled = scores[np.concatenate([s.members for s in species])] * 2.0**-64
        low, high = float(scaled.min()), float(scaled.max())
        adjusted = [(m - low) / max(2.0**-64, high - low) for m in means]
    total = math.fsum(adjusted)
    shares = [max(float(least), a / total * pop_size if total > 0 else 0.0) for a in adjusted]
    if config.spawn_method == "proportional":
        amounts = [round(share) for share in shares]
    else:
        amounts = [_half_way(len(s), share) for s, share in zip(species, shares, strict=True)]
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
