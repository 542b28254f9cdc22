"""Builds the arrays of a population from plain Python lists of genes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import index
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from evonet.errors import GenomeError, UnknownFunctionError
from evonet.functions.registry import activation_id, aggregation_id
from evonet.genes.arrays import ARRAYS, GeneArrays, RealType, starts_of
from evonet.genes.genome import Connection, Node

NodeLike: TypeAlias = "int | Sequence[Any] | Mapping[str, Any]"
ConnectionLike: TypeAlias = "Sequence[Any] | Mapping[str, Any]"
GenomeLike: TypeAlias = "tuple[Iterable[NodeLike], Iterable[ConnectionLike]]"

Gene = TypeVar("Gene", Node, Connection)


def arrays_from_lists(genomes: Iterable[GenomeLike], dtype: RealType) -> GeneArrays:
    """Packs readable genes, one (nodes, connections) pair per genome.

    Connections without an innovation number get one by structure: equal (source, target) pairs
    get equal numbers, new pairs get the next number in order of appearance.
    """
    node_lists: list[list[Node]] = []
    connection_lists: list[list[Connection]] = []
    for position, genome in enumerate(genomes):
        try:
            nodes, connections = map(list, genome)
        except (TypeError, ValueError):
            raise GenomeError(
                f"genome {position}: expected a pair (nodes, connections), found {genome!r}.",
                position,
            ) from None
        node_lists.append([_read_gene(Node, gene, position) for gene in nodes])
        connection_lists.append([_read_gene(Connection, gene, position) for gene in connections])
        check_functions(node_lists[-1], position)
    _number_innovations(connection_lists)
    return pack_genes(node_lists, connection_lists, dtype)


def pack_genes(
    node_lists: list[list[Node]], connection_lists: list[list[Connection]], dtype: RealType
) -> GeneArrays:
    """Packs genes whose fields have the right types, functions that exist, and innovations."""
    with np.errstate(over="ignore"):  # What is too large for float32 is reported as inf.
        return _pack(node_lists, connection_lists, dtype)


def _read_gene(kind: type[Gene], gene: Any, genome: int) -> Gene:
    """Turns an int, a tuple or a dict into a gene with fields of plain Python types."""
    try:
        if kind is Node and isinstance(gene, (int, np.integer)):
            gene = (gene,)
        made = kind(**gene) if isinstance(gene, Mapping) else kind(*gene)
        return made._replace(**{k: _READERS.get(k, float)(v) for k, v in made._asdict().items()})
    except (TypeError, ValueError, OverflowError):
        raise GenomeError(
            f"genome {genome}: {kind.__name__.lower()} {gene!r} does not read as "
            f"({', '.join(kind._fields)}).",
            genome,
        ) from None


def _read_key(value: Any) -> int:
    # Beyond 64 bits NumPy could not even store it for validation.
    return max(-(2**63), min(index(value), 2**63 - 1))


def _read_name(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _read_flag(value: Any) -> bool:
    if value not in (False, True):
        raise ValueError
    return bool(value)


# How fields are read that are not real numbers.
_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "key": _read_key,
    "activation": _read_name,
    "aggregation": _read_name,
    "source": _read_key,
    "target": _read_key,
    "enabled": _read_flag,
    "innovation": lambda value: None if value is None else _read_key(value),
}


def check_functions(nodes: Iterable[Node], genome: int) -> None:
    """Raises an `UnknownFunctionError` for a function that is not registered."""
    for node in nodes:
        try:
            activation_id(node.activation)
            aggregation_id(node.aggregation)
        except UnknownFunctionError as error:
            message = f"genome {genome}: node {node.key}: {error}"
            raise UnknownFunctionError(message, genome) from None


def _number_innovations(connection_lists: list[list[Connection]]) -> None:
    """Gives every connection that has none an innovation number, in place."""
    known: dict[tuple[int, int], int] = {}
    for c in chain.from_iterable(connection_lists):
        if c.innovation is not None:
            known.setdefault((c.source, c.target), c.innovation)
    following = max(known.values(), default=-1) + 1
    for connections in connection_lists:
        for i, c in enumerate(connections):
            if c.innovation is not None:
                continue
            pair = (c.source, c.target)
            if pair not in known:
                known[pair] = following
                following += 1
            connections[i] = c._replace(innovation=known[pair])


def _pack(
    node_lists: list[list[Node]], connection_lists: list[list[Connection]], dtype: RealType
) -> GeneArrays:
    nodes = [n for listed in node_lists for n in sorted(listed, key=lambda n: n.key)]
    links = [
        (rank, c)
        for listed in connection_lists
        for rank, c in sorted(enumerate(listed), key=lambda item: item[1].innovation or 0)
    ]
    columns = {
        "node_key": [n.key for n in nodes],
        "activation": [activation_id(n.activation) for n in nodes],
        "aggregation": [aggregation_id(n.aggregation) for n in nodes],
        "rank": [rank for rank, _ in links],
    }
    for name in ("bias", "response", "time_constant"):
        columns[name] = [getattr(n, name) for n in nodes]
    for name in ("innovation", "source", "target", "weight", "enabled"):
        columns[name] = [getattr(c, name) for _, c in links]
    return {
        "node_start": starts_of(np.array(list(map(len, node_lists)), np.int64)),
        "conn_start": starts_of(np.array(list(map(len, connection_lists)), np.int64)),
        **{
            name: np.array(column, dtype if ARRAYS[name] == "real" else ARRAYS[name])
            for name, column in columns.items()
        },
    }
