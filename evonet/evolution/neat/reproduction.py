"""Who has how many children with whom."""

from __future__ import annotations

from dataclasses import dataclass

from evonet.backends.genetics import Engine
from evonet.backends.reference import sharing
from evonet.config import ReproductionTable
from evonet.evolution.neat.species import Scores, Species, join_members
from evonet.genes.mating import Indices, MatingShares, Parents, SharingRules
from evonet.installation import load_native


@dataclass(frozen=True)
class MatingPlan:
    """The next generation, before it is bred: elites first, then children.

    Attributes:
        species: Those that have a share in it, worst first.
        fitter: [P] position of the better parent.
        other: [P] position of the other parent; -1 for an elite, which is a copy.
        copies: Positions of the elites, ascending.
    """

    species: list[Species]
    fitter: Parents
    other: Parents
    copies: Indices

    @property
    def num_elites(self) -> int:
        """How many genomes pass on unchanged."""
        return len(self.copies)


def plan_mating(
    species: list[Species],
    scores: Scores,
    pop_size: int,
    config: ReproductionTable,
    seed: int,
    generation: int,
    engine: Engine,
    threads: int = 1,
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
        threads: Threads that add up scores, 0 for all available.
    """
    least = min(max(config.min_species_size, config.elitism, 1), pop_size)
    # neat-python gives up where the minima exceed the population; here the worst species do.
    species = species[max(0, len(species) - pop_size // least) :]
    shares = share_out(scores, *join_members(species), pop_size, least, config, threads)
    return MatingPlan(species, *engine.mate(scores, shares, seed, generation))


def share_out(
    scores: Scores,
    members: Indices,
    starts: Indices,
    pop_size: int,
    least: int,
    config: ReproductionTable,
    threads: int = 1,
) -> MatingShares:
    """Shares out the next generation, natively where the extension was built.

    Args:
        scores: [P] higher is better.
        members: Positions of the species' genomes, species by species.
        starts: [S + 1] where each species begins in them; none is empty.
        pop_size: Genomes of the next generation.
        least: Genomes that each species has in it.
        config: How to share.
        threads: Threads that add up scores, 0 for all available.

    Returns:
        Elites and children of each species, exactly pop_size in all.
    """
    rules = SharingRules(
        pop_size,
        least,
        min(config.elitism, pop_size),
        config.survival_threshold,
        config.fitness_sharing == "canonical",
        config.spawn_method == "proportional",
    )
    native = load_native()
    if native is None:
        amounts = sharing.share_out(scores, members, starts, rules)
    else:
        amounts = native.share_out(scores, members, starts, *rules, threads)
    return MatingShares(members, starts, *amounts, config.interspecies_crossover_prob)
