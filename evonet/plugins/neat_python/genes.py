"""neat-python's gene objects as arrays, and arrays as gene objects."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from evonet.errors import GenomeError, OptionError, UnknownFunctionError
from evonet.functions.registry import (
    ACTIVATION_IDS,
    ACTIVATION_TABLE,
    AGGREGATION_IDS,
    AGGREGATION_TABLE,
)
from evonet.genes.arrays import ARRAYS, GeneArrays, Int64Array, RealType, owner_of, starts_of
from evonet.installation import load_native
from evonet.messages import did_you_mean

if TYPE_CHECKING:
    from evonet.genes.population import Population

# neat-python has no types, so its objects are Any here.
NeatGenome: TypeAlias = Any
NeatConfig: TypeAlias = Any
NeatGenomes: TypeAlias = "Mapping[int, NeatGenome] | Iterable[Any]"

FunctionIds: TypeAlias = "Mapping[str, Mapping[str, int]]"

NODE_NUMBERS: Final = ("bias", "response", "time_constant")
NODE_NAMES: Final[FunctionIds] = {"activation": ACTIVATION_IDS, "aggregation": AGGREGATION_IDS}


def arrays_from_neat(
    ids: Sequence[Any],
    genomes: Sequence[NeatGenome],
    dtype: RealType,
    functions: FunctionIds = NODE_NAMES,
) -> GeneArrays:
    """Packs gene objects by reading their attributes.

    The compiled extension reads ordinary genomes. NumPy reads all others, and everything where
    there is no extension, into the same arrays.

    Args:
        ids: What messages call the genomes, [P].
        genomes: neat-python genomes, [P].
        dtype: Type of the real-valued genes.
        functions: Ids of activations and of aggregations by name.

    Raises:
        UnknownFunctionError: A node names a function that nobody registered.
        GenomeError: A gene lacks an attribute, or it is not a number.
    """
    try:
        arrays = _read_natively(genomes, dtype, functions)
        if arrays is None:
            nodes = _read_nodes(genomes, dtype, functions)
            arrays = {**nodes, **_read_connections(genomes, dtype)}
        return cast(GeneArrays, arrays)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        explain_genes(ids, genomes, functions)
        raise


def _read_natively(
    genomes: Sequence[NeatGenome], dtype: RealType, functions: FunctionIds
) -> dict[str, NDArray[Any]] | None:
    native = load_native()
    packed: Any = native and native.pack_neat(list(genomes), *map(dict, functions.values()))
    if packed is None:
        return None
    with np.errstate(over="ignore", under="ignore"):  # The validation finds what overflowed.
        return {
            name: packed[name].astype(dtype if kind == "real" else kind, copy=False)
            for name, kind in ARRAYS.items()
        }


def _read_nodes(
    genomes: Sequence[NeatGenome], dtype: RealType, functions: FunctionIds
) -> dict[str, NDArray[Any]]:
    genes = [gene for genome in genomes for gene in genome.nodes.values()]
    start = starts_of(np.array([len(genome.nodes) for genome in genomes], np.int64))
    key = _column(chain.from_iterable(genome.nodes for genome in genomes), np.int64, len(genes))
    arrays = {"node_key": key}
    for name in NODE_NUMBERS:
        if name == "time_constant" and not (genes and hasattr(genes[0], name)):
            arrays[name] = np.ones(len(genes), dtype)  # Before neat-python 2 there was none.
        else:
            arrays[name] = _reals(map(attrgetter(name), genes), dtype, len(genes))
    for name, numbers in functions.items():
        found = map(numbers.__getitem__, map(attrgetter(name), genes))
        arrays[name] = _column(found, np.uint8, len(genes))
    order = _order_within(start, key)
    if order is not None:
        arrays = {name: array[order] for name, array in arrays.items()}
    return {"node_start": start, **arrays}


def _read_connections(genomes: Sequence[NeatGenome], dtype: RealType) -> dict[str, NDArray[Any]]:
    genes = [gene for genome in genomes for gene in genome.connections.values()]
    counts = np.array([len(genome.connections) for genome in genomes], np.int64)
    start = starts_of(counts)
    ends = chain.from_iterable(chain.from_iterable(genome.connections for genome in genomes))
    source, target = _column(ends, np.int64, 2 * len(genes)).reshape(-1, 2).T.copy()
    innovation, order = _read_innovations(genes, start, source, target)
    arrays = {
        "innovation": innovation,
        "source": source,
        "target": target,
        "weight": _reals(map(attrgetter("weight"), genes), dtype, len(genes)),
        "enabled": _column(map(attrgetter("enabled"), genes), np.bool_, len(genes)),
        "rank": (np.arange(len(genes)) - np.repeat(start[:-1], counts)).astype(np.int32),
    }
    if order is not None:
        arrays = {name: array[order] for name, array in arrays.items()}
    return {"conn_start": start, **arrays}


def _read_innovations(
    genes: Sequence[Any], start: Int64Array, source: Int64Array, target: Int64Array
) -> tuple[Int64Array, Int64Array | None]:
    """Reads innovation numbers, or assigns them where neat-python has no usable ones.

    Returns:
        The numbers, [E], and the order that sorts them inside each genome, or None.
    """
    if genes and hasattr(genes[0], "innovation"):
        found = _column(map(attrgetter("innovation"), genes), np.int64, len(genes))
        order = _order_within(start, found)
        if order is None or not _repeats_within(start, found[order]):
            return found, order
        # neat-python may reuse numbers after a checkpoint, and evaluates such genomes all the same.
        warnings.warn(
            "Some genomes use one innovation number for two connections. "
            "All connections were renumbered by source and target.",
            RuntimeWarning,
            stacklevel=6,
        )
    assigned = _innovations_of_structure(source, target)
    return assigned, _order_within(start, assigned)


def _repeats_within(start: Int64Array, ordered: Int64Array) -> bool:
    owner = owner_of(start)
    return bool(((ordered[1:] == ordered[:-1]) & (owner[1:] == owner[:-1])).any())


def _innovations_of_structure(source: Int64Array, target: Int64Array) -> Int64Array:
    """Numbers all distinct (source, target) pairs in ascending order, [E]."""
    _, source_number = np.unique(source, return_inverse=True)
    targets, target_number = np.unique(target, return_inverse=True)
    pair = source_number * len(targets) + target_number
    number: Int64Array = np.unique(pair, return_inverse=True)[1]
    return number


def _order_within(start: Int64Array, keys: Int64Array) -> Int64Array | None:
    """Finds the order that sorts keys inside each genome; None if they are sorted already."""
    owner = owner_of(start)
    if ((keys[1:] > keys[:-1]) | (owner[1:] != owner[:-1])).all():
        return None
    low, high = int(keys.min()), int(keys.max())
    if (high - low + 1) * len(start) < 2**62:
        return np.argsort(owner * (high - low + 1) + (keys - low))
    return np.lexsort((keys, owner))


def _column(values: Iterator[Any], dtype: Any, count: int) -> NDArray[Any]:
    column = np.fromiter(values, dtype, count)
    if next(values, None) is not None:
        raise ValueError("A key of a connection is not a pair.")
    return column


def _reals(values: Iterator[Any], dtype: RealType, count: int) -> NDArray[Any]:
    with np.errstate(over="ignore", under="ignore"):  # The validation finds what overflowed.
        return np.fromiter(values, np.float64, count).astype(dtype, copy=False)


def write_nodes(p: Population, gene_type: Any) -> list[Any]:
    """Makes a gene object for every node, by genome and key.

    Raises:
        OptionError: The gene type has an attribute that a population does not hold.
        GenomeError: It has no time constants, and a node needs one.
    """
    columns = {name: getattr(p, name).tolist() for name in NODE_NUMBERS}
    columns["activation"] = [ACTIVATION_TABLE[i].name for i in p.activation.tolist()]
    columns["aggregation"] = [AGGREGATION_TABLE[i].name for i in p.aggregation.tolist()]
    names = _attribute_names(gene_type, columns)
    if "time_constant" not in names and (p.time_constant != 1).any():
        i = int(np.argmax(p.time_constant != 1))
        genome = int(owner_of(p.node_start)[i])
        raise GenomeError(
            f"genome {genome}: node {p.node_key[i]}: time_constant is {p.time_constant[i]}, and "
            "this version of neat-python has no time constants. Install neat-python 2.",
            genome,
        )
    genes = []
    for i, key in enumerate(p.node_key.tolist()):
        gene = gene_type(key)
        for name in names:
            setattr(gene, name, columns[name][i])
        genes.append(gene)
    return genes


def write_connections(p: Population, gene_type: Any) -> list[Any]:
    """Makes a gene object for every connection, by genome and rank.

    Raises:
        OptionError: The gene type has an attribute that a population does not hold.
    """
    order = p.conn_start[owner_of(p.conn_start)] + p.rank
    listed = np.empty(len(order), np.int64)
    listed[order] = np.arange(len(order))
    columns = {name: getattr(p, name)[listed].tolist() for name in ("weight", "enabled")}
    names = _attribute_names(gene_type, columns)
    has_innovation = "innovation" in inspect.signature(gene_type).parameters
    keys = zip(p.source[listed].tolist(), p.target[listed].tolist(), strict=True)
    innovations = p.innovation[listed].tolist()
    genes = []
    for i, key in enumerate(keys):
        gene = gene_type(key, innovation=innovations[i]) if has_innovation else gene_type(key)
        for name in names:
            setattr(gene, name, columns[name][i])
        genes.append(gene)
    return genes


def _attribute_names(gene_type: Any, known: Iterable[str]) -> list[str]:
    names = [attribute.name for attribute in gene_type._gene_attributes]
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise OptionError(
            f"{gene_type.__name__} has attributes that a population does not hold: "
            f"{', '.join(unknown)}."
        )
    return names


def explain_genes(
    ids: Sequence[Any], genomes: Sequence[NeatGenome], functions: FunctionIds = NODE_NAMES
) -> None:
    """Raises for the first gene that cannot be read; called once it is known that there is one.

    Args:
        ids: What messages call the genomes, [P].
        genomes: neat-python genomes, [P].
        functions: Ids of activations and of aggregations by name.

    Raises:
        UnknownFunctionError: A node names a function that nobody registered.
        GenomeError: A gene lacks an attribute, or it is not a number.
    """
    for index, (key, genome) in enumerate(zip(ids, genomes, strict=True)):
        for node_key, gene in genome.nodes.items():
            where = f"genome id {key}: node {node_key}"
            _explain_whole_number(node_key, where, "key", index)
            for name in NODE_NUMBERS:
                if name != "time_constant" or hasattr(gene, name):
                    _explain_number(gene, name, where, index)
            for name, known in functions.items():
                found = _explain_missing(gene, name, where, index)
                if found not in known:
                    raise UnknownFunctionError(
                        f'{where}: "{found}" is not a known {name}. '
                        f"{did_you_mean(str(found), known)}",
                        index,
                    )
        for ends, gene in genome.connections.items():
            where = f"genome id {key}: connection {ends}"
            if not isinstance(ends, tuple) or len(ends) != 2:
                raise GenomeError(f"{where}: its key is not a pair (source, target).", index)
            _explain_whole_number(ends[0], where, "source", index)
            _explain_whole_number(ends[1], where, "target", index)
            if hasattr(gene, "innovation"):
                _explain_whole_number(gene.innovation, where, "innovation", index)
            for name in ("weight", "enabled"):
                _explain_number(gene, name, where, index)


def _explain_whole_number(value: Any, where: str, name: str, index: int) -> None:
    if not isinstance(value, (int, np.integer)) or abs(int(value)) >= 2**63:
        raise GenomeError(f"{where}: {name} is {value!r}. Expected a whole number.", index)


def _explain_number(gene: Any, name: str, where: str, index: int) -> None:
    found = _explain_missing(gene, name, where, index)
    try:
        float(found)
    except (TypeError, ValueError, OverflowError):
        raise GenomeError(f"{where}: {name} is {found!r}. Expected a number.", index) from None


def _explain_missing(gene: Any, name: str, where: str, index: int) -> Any:
    if hasattr(gene, name):
        return getattr(gene, name)
    raise GenomeError(
        f"{where}: a {type(gene).__name__} has no {name}. "
        "Only genes like those of neat.DefaultGenome can be read.",
        index,
    )
