"""Reads neat-python's gene objects into arrays.

Nothing here copies a neat-python config or asks it for a node id: both would change how the
same seed evolves. `neat_genomes.py` is the way back.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from evonet.errors import GenomeError, OptionError, UnknownFunctionError, did_you_mean
from evonet.functions.registry import ACTIVATION_IDS, AGGREGATION_IDS
from evonet.genes.arrays import ARRAYS, GeneArrays, Int64Array, RealType, owner_of, starts_of
from evonet.installation import load_native

# neat-python has no types, so its objects are Any here.
NeatGenome: TypeAlias = Any
NeatConfig: TypeAlias = Any
NeatGenomes: TypeAlias = "Mapping[int, NeatGenome] | Iterable[Any]"

FunctionIds: TypeAlias = "Mapping[str, Mapping[str, int]]"

NODE_NUMBERS: Final = ("bias", "response", "time_constant")
NODE_NAMES: Final[FunctionIds] = {"activation": ACTIVATION_IDS, "aggregation": AGGREGATION_IDS}


def pin_counts(config: NeatConfig) -> tuple[int, int]:
    """Reads the number of inputs and outputs from a neat-python config.

    Args:
        config: A `neat.Config`, or its `genome_config`.

    Raises:
        OptionError: It is no such config, or its input or output keys are unusual.
    """
    genome_config: Any = getattr(config, "genome_config", config)
    try:
        inputs, outputs = list(genome_config.input_keys), list(genome_config.output_keys)
    except AttributeError:
        raise OptionError(
            f"config is a {type(config).__name__}. Expected a neat.Config or its genome_config."
        ) from None
    if inputs != [-1 - i for i in range(len(inputs))] or outputs != list(range(len(outputs))):
        raise OptionError(
            f"The config has input keys {inputs} and output keys {outputs}. "
            "Expected -1, -2, ... and 0, 1, ..."
        )
    return len(inputs), len(outputs)


def list_genomes(genomes: NeatGenomes) -> tuple[list[Any], list[NeatGenome]]:
    """Splits genomes, in any form in which neat-python hands them around, from their ids.

    Args:
        genomes: Pairs (id, genome), or genomes, or a dict of genomes by id.

    Raises:
        OptionError: It is something else.
    """
    items: Iterable[Any] = genomes.items() if isinstance(genomes, Mapping) else genomes
    ids, found = [], []
    try:
        for item in items:
            key, genome = item if isinstance(item, (tuple, list)) else (item.key, item)
            ids.append(key)
            found.append(genome)
        if all(hasattr(genome, "nodes") and hasattr(genome, "connections") for genome in found):
            return ids, found
    except (TypeError, ValueError, AttributeError):
        pass
    raise OptionError(
        "genomes are not neat-python genomes. Expected pairs (id, genome), genomes, or a dict."
    )


def arrays_from_neat(
    ids: Sequence[Any],
    genomes: Sequence[NeatGenome],
    dtype: RealType,
    functions: FunctionIds = NODE_NAMES,
) -> GeneArrays:
    """Packs gene objects by reading their attributes.

    The compiled extension reads ordinary genomes; the rest of this module reads all others, and
    everything where there is no extension, to the same arrays.

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
    """Reads innovation numbers, or makes them up where neat-python has no usable ones.

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
            "All connections were numbered anew, by source and target.",
            RuntimeWarning,
            stacklevel=5,
        )
    made_up = _innovations_of_structure(source, target)
    return made_up, _order_within(start, made_up)


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


def explain_genes(
    ids: Sequence[Any], genomes: Sequence[NeatGenome], functions: FunctionIds = NODE_NAMES
) -> None:
    """Looks at gene after gene for one that cannot be read, once it is known that there is one.

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
                _explain_name(gene, name, known, where, index)
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
    if not hasattr(gene, name):
        raise GenomeError(
            f"{where}: a {type(gene).__name__} has no {name}. "
            "Only genes like those of neat.DefaultGenome can be read.",
            index,
        )
    try:
        float(getattr(gene, name))
    except (TypeError, ValueError, OverflowError):
        raise GenomeError(
            f"{where}: {name} is {getattr(gene, name)!r}. Expected a number.", index
        ) from None


def _explain_name(gene: Any, name: str, known: Mapping[str, int], where: str, index: int) -> None:
    found = getattr(gene, name, None)
    if found is None:
        raise GenomeError(
            f"{where}: a {type(gene).__name__} has no {name}. "
            "Only genes like those of neat.DefaultGenome can be read.",
            index,
        )
    if found not in known:
        raise UnknownFunctionError(
            f'{where}: "{found}" is not a known {name}. {did_you_mean(str(found), known)}', index
        )
