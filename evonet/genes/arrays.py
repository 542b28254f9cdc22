"""The arrays of a population, as `kernels/genetics/population.def` lists them.

Everything that treats all arrays alike (selecting, comparing, saving) iterates over the tables
below, so an array is listed once.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from evonet.definitions.reader import read_list
from evonet.errors import ShapeError

Int64Array: TypeAlias = NDArray[np.int64]
RealArray: TypeAlias = NDArray[np.floating[Any]]
# All arrays of a population by name; `Population` documents each one.
GeneArrays: TypeAlias = dict[str, NDArray[Any]]
RealType: TypeAlias = "np.dtype[np.float32] | np.dtype[np.float64]"


def _types(*kinds: str) -> dict[str, str]:
    entries = read_list("genetics/population.def", *kinds)
    return {name: type_name for type_name, name, _ in entries}


# Types by name; "real" stands for the population's own type, float32 or float64.
NODE_ARRAYS: Final = _types("node_gene")
CONNECTION_ARRAYS: Final = _types("connection_gene", "connection_order")
ARRAYS: Final = _types("offsets", "node_gene", "connection_gene", "connection_order")
# Offsets, and the arrays in which they count.
GROUPS: Final = (("node_start", NODE_ARRAYS), ("conn_start", CONNECTION_ARRAYS))

# Keys and innovations stay below this, so that adding a few of them cannot overflow.
LARGEST_KEY: Final = 2**62
# The largest number of inputs or outputs; kernels count them in 32 bits.
MOST_PINS: Final = 2**31 - 1


def real_type(dtype: DTypeLike) -> RealType:
    """Returns float32 or float64; a ShapeError refuses everything else."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        raise ShapeError(f"dtype={dtype!r} is not a NumPy type. Use float32 or float64.") from None
    if found == np.float32:
        return np.dtype(np.float32)
    if found == np.float64:
        return np.dtype(np.float64)
    raise ShapeError(f"dtype={found} is not a type for genes. Use float32 or float64.")


def starts_of(counts: NDArray[Any]) -> Int64Array:
    """Turns numbers of genes, [P], into where each genome begins, and last the total, [P+1]."""
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def owner_of(starts: Int64Array) -> Int64Array:
    """Returns the genome that each gene belongs to, [N] or [E], by the genomes' offsets, [P+1]."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))
