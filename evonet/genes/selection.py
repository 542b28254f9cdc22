"""Cuts, picks and joins genomes on the level of arrays, without a Python loop over genomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from evonet.genes.arrays import CONNECTION_ARRAYS, NODE_ARRAYS, GeneArrays, Int64Array, starts_of

if TYPE_CHECKING:
    from evonet.genes.population import Population

GROUPS: Final = (("node_start", NODE_ARRAYS), ("conn_start", CONNECTION_ARRAYS))


def cut_genomes(population: Population, begin: int, end: int) -> GeneArrays:
    """Selects neighbouring genomes; the gene arrays share memory with the population."""
    arrays: dict[str, NDArray[Any]] = {}
    for starts, names in GROUPS:
        cut: Int64Array = getattr(population, starts)[begin : end + 1]
        arrays[starts] = cut - cut[0]
        for name in names:
            arrays[name] = getattr(population, name)[cut[0] : cut[-1]]
    return cast(GeneArrays, arrays)


def pick_genomes(population: Population, wanted: Int64Array) -> GeneArrays:
    """Copies genomes in any order, any number of times.

    Args:
        population: Where they are from.
        wanted: Their numbers, not negative, [Q].
    """
    arrays: dict[str, NDArray[Any]] = {}
    for starts, names in GROUPS:
        old: Int64Array = getattr(population, starts)
        counts = np.diff(old)[wanted]
        new = starts_of(counts)
        genes = np.arange(new[-1]) + np.repeat(old[wanted] - new[:-1], counts)
        arrays[starts] = new
        for name in names:
            arrays[name] = getattr(population, name)[genes]
    return cast(GeneArrays, arrays)


def join_genomes(populations: Sequence[Population]) -> GeneArrays:
    """Copies all genomes of several populations, in order; there is at least one population."""
    arrays: dict[str, NDArray[Any]] = {}
    for starts, names in GROUPS:
        counts = [np.diff(getattr(population, starts)) for population in populations]
        arrays[starts] = starts_of(np.concatenate(counts))
        for name in names:
            parts = [getattr(population, name) for population in populations]
            arrays[name] = np.concatenate(parts)
    return cast(GeneArrays, arrays)
