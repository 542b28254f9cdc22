"""neat-python's gene objects as arrays, and arrays as gene objects."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

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
HOW_TO_ADD: Final = (
    " Add a custom function to the config with config.genome_config.add_activation(name, f), or "
    "add_aggregation."
)


def arrays_from_neat(
    ids: Sequence[Any],
    genomes: Sequence[NeatGenome],
    dtype: RealType,
    functions: FunctionIds = NODE_NAMES,
) -> GeneArrays:
    """Packs gene objects by reading their attributes; messages name the genomes by `ids`.

    The compiled extension reads ordinary genomes. NumPy reads all others, and everything where
    there is no extension, into the same arrays.
    """
    native = load_native()
    try:
        packed: Any = native and native.pack_neat(list(genomes), *map(dict, functions.values()))
        if packed is None:
            packed = {**_read_nodes(genomes, functions), **_read_connections(genomes)}
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        explain_genes(ids, genomes, functions)
        raise
    with np.errstate(over="ignore", under="ignore"):  # The validation finds what overflowed.
        return {
            name: packed[name].astype(dtype if kind == "real" else kind, copy=False)
            for name, kind in ARRAYS.items()
        }


def _read_nodes(genomes: Sequence[NeatGenome], functions: FunctionIds) -> GeneArrays:
    genes = [gene for genome in genomes for gene in genome.nodes.values()]
    start = starts_of(np.array([len(genome.nodes) for genome in genomes], np.int64))
    keys = chain.from_iterable(genome.nodes for genome in genomes)
    arrays: GeneArrays = {"node_key": np.fromiter(keys, np.int64, len(genes))}
    for name in NODE_NUMBERS:
        if name == "time_constant" and not (genes and hasattr(genes[0], name)):
            arrays[name] = np.ones(len(genes))  # Before neat-python 2 there was none.
        else:
            arrays[name] = _column(genes, name, np.float64)
    for name, numbers in functions.items():
        found = map(numbers.__getitem__, map(attrgetter(name), genes))
        arrays[name] = np.fromiter(found, np.uint8, len(genes))
    order = _order_within(owner_of(start), arrays["node_key"])
    return {"node_start": start, **{name: array[order] for name, array in arrays.items()}}


def _read_connections(genomes: Sequence[NeatGenome]) -> GeneArrays:
    genes = [gene for genome in genomes for gene in genome.connections.values()]
    counts = np.array([len(genome.connections) for genome in genomes], np.int64)
    start = starts_of(counts)
    keys = chain.from_iterable(chain.from_iterable(genome.connections for genome in genomes))
    source, target = np.fromiter(keys, np.int64, 2 * len(genes)).reshape(-1, 2).T.copy()
    if next(keys, None) is not None:
        raise ValueError("A key of a connection is not a pair.")
    innovation, order = _read_innovations(genes, owner_of(start), source, target)
    arrays = {
        "innovation": innovation,
        "source": source,
        "target": target,
        "weight": _column(genes, "weight", np.float64),
        "enabled": _column(genes, "enabled", np.bool_),
        "rank": np.arange(len(genes)) - np.repeat(start[:-1], counts),
    }
    return {"conn_start": start, **{name: array[order] for name, array in arrays.items()}}


def _column(genes: Sequence[Any], name: str, dtype: Any) -> NDArray[Any]:
    return np.fromiter(map(attrgetter(name), genes), dtype, len(genes))


def _read_innovations(
    genes: Sequence[Any], owner: Int64Array, source: Int64Array, target: Int64Array
) -> tuple[Int64Array, Any]:
    """Reads innovation numbers, [E], and an index that sorts them inside each genome.

    Where neat-python has no usable numbers, all distinct (source, target) pairs get one.
    """
    if genes and hasattr(genes[0], "innovation"):
        found = _column(genes, "innovation", np.int64)
        order = _order_within(owner, found)
        ordered = found[order]
        if not ((ordered[1:] == ordered[:-1]) & (owner[1:] == owner[:-1])).any():
            return found, order
        # neat-python may reuse numbers after a checkpoint, and evaluates such genomes all the same.
        warnings.warn(
            "Some genomes use one innovation number for two connections. "
            "All connections were renumbered by source and target.",
            RuntimeWarning,
            stacklevel=6,
        )
    pairs = list(zip(source.tolist(), target.tolist(), strict=True))
    numbers = {pair: number for number, pair in enumerate(sorted(set(pairs)))}
    assigned = np.array([numbers[pair] for pair in pairs], np.int64)
    return assigned, _order_within(owner, assigned)


def _order_within(owner: Int64Array, keys: Int64Array) -> Any:
    """Returns an index that sorts keys inside each genome; it copies nothing if they are sorted."""
    if ((keys[1:] > keys[:-1]) | (owner[1:] != owner[:-1])).all():
        return slice(None)
    return np.lexsort((keys, owner))


def write_nodes(p: Population, gene_type: Any) -> list[Any]:
    """Makes a gene object for every node, by genome and key."""
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
    return _fill(map(gene_type, p.node_key.tolist()), names, columns)


def write_connections(p: Population, gene_type: Any) -> list[Any]:
    """Makes a gene object for every connection, by genome and rank."""
    listed = np.lexsort((p.rank, owner_of(p.conn_start)))
    columns = {name: getattr(p, name)[listed].tolist() for name in ("weight", "enabled")}
    names = _attribute_names(gene_type, columns)
    has_innovation = "innovation" in inspect.signature(gene_type).parameters
    keys = zip(p.source[listed].tolist(), p.target[listed].tolist(), strict=True)
    genes = (
        gene_type(key, innovation=innovation) if has_innovation else gene_type(key)
        for key, innovation in zip(keys, p.innovation[listed].tolist(), strict=True)
    )
    return _fill(genes, names, columns)


def _attribute_names(gene_type: Any, known: Iterable[str]) -> list[str]:
    names = [attribute.name for attribute in gene_type._gene_attributes]
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise OptionError(
            f"{gene_type.__name__} has attributes that a population does not hold: "
            f"{', '.join(unknown)}."
        )
    return names


def _fill(
    genes: Iterable[Any], names: Sequence[str], columns: Mapping[str, Sequence[Any]]
) -> list[Any]:
    """Makes genes one by one, each with all its attributes, so that they are close in memory."""
    filled = []
    for i, gene in enumerate(genes):
        for name in names:
            setattr(gene, name, columns[name][i])
        filled.append(gene)
    return filled


def explain_genes(
    ids: Sequence[Any], genomes: Sequence[NeatGenome], functions: FunctionIds = NODE_NAMES
) -> None:
    """Raises for the first gene that cannot be read; called once it is known that there is one."""
    for index, (key, genome) in enumerate(zip(ids, genomes, strict=True)):
        try:
            for node_key, gene in genome.nodes.items():
                _check_node(gene, node_key, functions)
            for ends, gene in genome.connections.items():
                _check_connection(gene, ends)
        except GenomeError as fault:
            raise type(fault)(f"genome id {key}: {fault}", index) from None


def _check_node(gene: Any, key: Any, functions: FunctionIds) -> None:
    where = f"node {key}"
    _check_whole_number(key, where, "key")
    for name in NODE_NUMBERS:
        if name != "time_constant" or hasattr(gene, name):
            _check_number(gene, name, where)
    for name, known in functions.items():
        found = _read(gene, name, where)
        if found not in known:
            raise UnknownFunctionError(
                f'{where}: "{found}" is not a known {name}. {did_you_mean(str(found), known)}'
                f"{'' if functions is NODE_NAMES else HOW_TO_ADD}"
            )


def _check_connection(gene: Any, ends: Any) -> None:
    where = f"connection {ends}"
    if not isinstance(ends, tuple) or len(ends) != 2:
        raise GenomeError(f"{where}: its key is not a pair (source, target).")
    _check_whole_number(ends[0], where, "source")
    _check_whole_number(ends[1], where, "target")
    if hasattr(gene, "innovation"):
        _check_whole_number(gene.innovation, where, "innovation")
    for name in ("weight", "enabled"):
        _check_number(gene, name, where)


def _check_whole_number(value: Any, where: str, name: str) -> None:
    if not isinstance(value, (int, np.integer)) or abs(int(value)) >= 2**63:
        raise GenomeError(f"{where}: {name} is {value!r}. Expected a whole number.")


def _check_number(gene: Any, name: str, where: str) -> None:
    found = _read(gene, name, where)
    try:
        float(found)
    except (TypeError, ValueError, OverflowError):
        raise GenomeError(f"{where}: {name} is {found!r}. Expected a number.") from None


def _read(gene: Any, name: str, where: str) -> Any:
    if hasattr(gene, name):
        return getattr(gene, name)
    raise GenomeError(
        f"{where}: a {type(gene).__name__} has no {name}. "
        "Only genes like those of neat.DefaultGenome can be read."
    )
