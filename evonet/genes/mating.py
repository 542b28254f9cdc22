"""Species as arrays: who belongs to them, and what they contribute to the next generation."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]


class DistantIndices(Protocol):
    """Positions of genomes in the memory of a GPU, where they never change."""

    def __len__(self) -> int:
        """How many there are."""

    def fetch(self) -> Indices:
        """Copies them to the host.

        Raises:
            DeviceError: The GPU fails.
        """


Parents: TypeAlias = Indices | DistantIndices
"""Positions of parents, where the engine that drew them is."""


def on_host(positions: Parents) -> Indices:
    """Returns positions on the host, copied there if they are on a GPU."""
    return positions if isinstance(positions, np.ndarray) else positions.fetch()


class Mating(NamedTuple):
    """Both parents of every genome of the next generation: copies first, then children.

    Attributes:
        fitter: [P] position of the better parent.
        other: [P] position of the other parent; -1 for a copy.
        copies: Positions of the genomes that pass on unchanged, ascending; always on the host.
    """

    fitter: Parents
    other: Parents
    copies: Indices


class SpeciesMembers(NamedTuple):
    """A population of P genomes, divided into S species, old ones first and then new ones.

    Attributes:
        members: [P] positions of the genomes, species by species, ascending within each.
        starts: [S + 1] where the members of each species begin, and P.
        representatives: [S] the genome that now stands for each; -1 if the species is gone.
    """

    members: Indices
    starts: Indices
    representatives: Indices


class SharingRules(NamedTuple):
    """How the next generation is shared out among species.

    Attributes:
        pop_size: Genomes of the next generation.
        least: Genomes that each species has in it.
        elitism: Members of a species that pass on unchanged, at most.
        survival: The fraction of a species that may become parents.
        canonical: Whether shares follow mean scores, and not where these lie in the range of all.
        proportional: Whether species reach their shares at once, and not half-way.
    """

    pop_size: int
    least: int
    elitism: int
    survival: float
    canonical: bool
    proportional: bool


class MatingShares(NamedTuple):
    """What S species contribute to the next generation.

    Attributes:
        members: Positions of their genomes, species by species, ascending within each.
        starts: [S + 1] where the members of each begin, and how many there are.
        num_elites: [S] of the best members pass on unchanged.
        num_parents: [S] of the best members may become parents, at least one.
        num_children: [S] children.
        interspecies: Probability that the second parent is of another species.
    """

    members: Indices
    starts: Indices
    num_elites: Indices
    num_parents: Indices
    num_children: Indices
    interspecies: float
