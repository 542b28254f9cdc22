"""Checks a population: that its arrays fit together, and then, in `gene_checks`, every gene."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from evonet.errors import OptionError, ShapeError
from evonet.genes.arrays import ARRAYS, GROUPS, MOST_PINS, Int64Array
from evonet.genes.gene_checks import check_genes

if TYPE_CHECKING:
    from evonet.genes.population import Population

# Genes that are checked at a time, so that all intermediate arrays stay in the cache.
PART: Final = 1 << 15


def check_population(
    population: Population, name_genome: Callable[[int], str] = "genome {}".format
) -> None:
    """Raises unless all arrays of a population fit together and every gene makes sense.

    `name_genome` returns what messages call the genome at a position.
    """
    _check_counts(population)
    _check_types(population)
    _check_starts(population)
    for start, stop in _parts(population):
        check_genes(population[start:stop], start, name_genome)


def _check_counts(p: Population) -> None:
    for name in ("num_inputs", "num_outputs"):
        if not 0 <= getattr(p, name) <= MOST_PINS:
            raise OptionError(f"{name}={getattr(p, name)} is not between 0 and {MOST_PINS}.")


def _check_types(p: Population) -> None:
    real = p.bias.dtype
    if real not in (np.float32, np.float64):
        raise ShapeError(f"bias has type {real}. Expected float32 or float64.")
    for name, kind in ARRAYS.items():
        array: NDArray[Any] = getattr(p, name)
        expected = real if kind == "real" else np.dtype(kind)
        if array.dtype != expected:
            hint = ", the type of bias" if kind == "real" else ""
            raise ShapeError(f"{name} has type {array.dtype}. Expected {expected}{hint}.")
        if array.ndim != 1:
            raise ShapeError(f"{name} has shape {array.shape}. Expected one dimension.")
        if not (array.flags.c_contiguous and array.flags.aligned):
            raise ShapeError(f"{name} is not contiguous and aligned. Pass a copy, {name}.copy().")


def _check_starts(p: Population) -> None:
    if len(p.node_start) == 0:
        raise ShapeError("node_start is empty. Expected P + 1 offsets; [0] for no genomes.")
    if len(p.conn_start) != len(p.node_start):
        raise ShapeError(
            f"conn_start has {len(p.conn_start)} offsets and node_start has "
            f"{len(p.node_start)}. Expected P + 1 in both."
        )
    for name, arrays in GROUPS:
        starts: Int64Array = getattr(p, name)
        if starts[0] != 0:
            raise ShapeError(f"{name} starts with {starts[0]}. Expected 0.")
        falls = starts[1:] < starts[:-1]
        if falls.any():
            g = int(np.argmax(falls))
            raise ShapeError(
                f"{name} falls from {starts[g]} to {starts[g + 1]} at genome {g}. "
                "Expected ascending offsets."
            )
        for array in arrays:
            if len(getattr(p, array)) != starts[-1]:
                raise ShapeError(
                    f"{array} has {len(getattr(p, array))} entries. "
                    f"Expected {starts[-1]}, where {name} ends."
                )


def _parts(p: Population) -> Iterator[tuple[int, int]]:
    """Cuts a population into ranges of genomes whose arrays fit into the cache."""
    load = p.node_start + p.conn_start
    cuts = np.searchsorted(load, np.arange(0, int(load[-1]) + 1, PART))
    return pairwise(np.unique(np.append(cuts, len(p))).tolist())
