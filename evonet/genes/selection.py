"""Selects and joins genomes on the level of arrays, without a Python loop over genomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from evonet.errors import OptionError, ShapeError
from evonet.genes.arrays import GROUPS, GeneArrays, Int64Array, starts_of

if TYPE_CHECKING:
    from evonet.genes.population import Population


def select_genomes(population: Population, index: SupportsIndex | slice | ArrayLike) -> GeneArrays:
    """Selects genomes as `population[index]` does, which documents the arguments."""
    num_genomes = len(population)
    if isinstance(index, slice):
        start, stop, step = index.indices(num_genomes)
        if step == 1:
            return cut_genomes(population, start, max(start, stop))
        return pick_genomes(population, np.arange(num_genomes)[index])
    wanted = np.asarray(index)
    if wanted.ndim == 0 and wanted.dtype.kind in "iu":
        i = int(wanted)
        if not -num_genomes <= i < num_genomes:
            raise IndexError(f"genome {i} does not exist: the population has {num_genomes}.")
        return cut_genomes(population, i % num_genomes, i % num_genomes + 1)
    if wanted.ndim != 1 or (wanted.dtype.kind not in "iub" and wanted.size):
        raise ShapeError(
            f"An index of type {wanted.dtype} and shape {wanted.shape} selects no genomes. "
            "Use a number, a slice, a list of numbers or a mask."
        )
    if wanted.dtype.kind == "b" and len(wanted) != num_genomes:
        raise ShapeError(f"The mask has {len(wanted)} entries for {num_genomes} genomes.")
    if wanted.dtype.kind == "b":
        return pick_genomes(population, np.flatnonzero(wanted))
    return pick_genomes(population, _positions(wanted.astype(np.int64), num_genomes))


def _positions(wanted: Int64Array, num_genomes: int) -> Int64Array:
    """Counts negative numbers from the end."""
    for i in wanted[(wanted < -num_genomes) | (wanted >= num_genomes)].tolist():
        raise IndexError(f"genome {i} does not exist: the population has {num_genomes}.")
    return np.where(wanted < 0, wanted + num_genomes, wanted)


def cut_genomes(population: Population, start: int, stop: int) -> GeneArrays:
    """Selects neighbouring genomes; the gene arrays share memory with the population."""
    gathered = _gather_distant(population, np.arange(start, stop))
    if gathered is not None:
        return gathered
    arrays: GeneArrays = {}
    for starts, names in GROUPS:
        cut: Int64Array = getattr(population, starts)[start : stop + 1]
        arrays[starts] = cut - cut[0]
        for name in names:
            arrays[name] = getattr(population, name)[cut[0] : cut[-1]]
    return arrays


def pick_genomes(population: Population, wanted: Int64Array) -> GeneArrays:
    """Copies the genomes with the given numbers, [Q], in any order, any number of times."""
    if len(wanted) == 1:  # as every new champion is picked
        one = cut_genomes(population, int(wanted[0]), int(wanted[0]) + 1)
        return {name: array.copy() for name, array in one.items()}
    gathered = _gather_distant(population, wanted)
    if gathered is not None:
        return gathered
    arrays: GeneArrays = {}
    for starts, names in GROUPS:
        old: Int64Array = getattr(population, starts)
        first = old[wanted]
        counts = old[wanted + 1] - first
        new = starts_of(counts)
        genes = np.arange(new[-1]) + np.repeat(first - new[:-1], counts)
        arrays[starts] = new
        for name in names:
            arrays[name] = getattr(population, name)[genes]
    return arrays


def _gather_distant(population: Population, wanted: Int64Array) -> GeneArrays | None:
    """Asks for genomes that are on a GPU; None if they have to be selected here."""
    return None if population.distant is None else population.distant.gather(wanted)


def join_genomes(populations: Sequence[Population]) -> GeneArrays:
    """Copies all genomes of several populations alike, in order."""
    if not populations:
        raise OptionError("There is nothing to concatenate. Use Population.empty().")
    for i, population in enumerate(populations):
        for name in ("num_inputs", "num_outputs", "dtype"):
            first, found = getattr(populations[0], name), getattr(population, name)
            if found != first:
                raise OptionError(
                    f"Population {i} has {name}={found} and population 0 has {name}={first}. "
                    "Only populations alike can be joined."
                )
    arrays: GeneArrays = {}
    for starts, names in GROUPS:
        counts = [np.diff(getattr(population, starts)) for population in populations]
        arrays[starts] = starts_of(np.concatenate(counts))
        for name in names:
            arrays[name] = np.concatenate([getattr(p, name) for p in populations])
    return arrays


def drop_idle_inputs(population: Population) -> tuple[Population, Int64Array]:
    """Leaves out the inputs that no connection reads.

    Declared inputs cost nothing in a file; what is left is bounded by the genes.

    Returns:
        An equal population of fewer inputs, and their keys before, [I]: input -1 - i had the key
        keys[i].
    """
    source = population.source
    keys = np.unique(source[source < 0])[::-1]
    number = -1 - np.searchsorted(-keys, -np.minimum(source, -1))
    arrays = {"num_inputs": len(keys), "source": np.where(source < 0, number, source)}
    return population._with(arrays), keys
