"""Builds the arrays of a population from plain Python lists of genes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import index
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np

from evonet.errors import GenomeError, UnknownFunctionError
from evonet.functions.registry import ACTIVATION_IDS, AGGREGATION_IDS, activation_id, aggregation_id
from evonet.genes.arrays import GeneArrays, RealType, starts_of
from evonet.genes.genome import Connection, Node
from evonet.messages import did_you_mean

NodeLike: TypeAlias = "int | Sequence[Any] | Mapping[str, Any]"
ConnectionLike: TypeAlias = "Sequence[Any] | Mapping[str, Any]"
GenomeLike: TypeAlias = "tuple[Iterable[NodeLike], Iterable[ConnectionLike]]"

Gene = TypeVar("Gene", Node, Connection)


def arrays_from_lists(genomes: Iterable[GenomeLike], dtype: RealType) -> GeneArrays:
    """Packs readable genes.

    Connections without an innovation number get one by structure: equal (source, target) pairs
    get equal numbers, new pairs get the next number in order of appearance.

    Args:
        genomes: One (nodes, connections) pair per genome.
        dtype: Type of the real-valued genes.

    Raises:
        GenomeError: A gene has missing, unknown or too many fields.
        UnknownFunctionError: A node names a function that nobody registered.
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
        for node in node_lists[-1]:
            _check_functions(node, position)
    _number_innovations(connection_lists)
    with np.errstate(over="ignore"):  # What is too large for float32 is reported as inf.
        return _pack(node_lists, connection_lists, dtype)


def _read_gene(kind: type[Gene], gene: Any, genome: int) -> Gene:
    """Turns an int, a tuple or a dict into a gene."""
    try:
        if isinstance(gene, Mapping):
            return _convert(kind(**gene))
        if kind is Node and isinstance(gene, (int, np.integer)):
            gene = (gene,)
        return _convert(kind(*gene))
    except (TypeError, ValueError, OverflowError):
        raise GenomeError(
            f"genome {genome}: {kind.__name__.lower()} {gene!r} does not read as "
            f"({', '.join(kind._fields)}).",
            genome,
        ) from None


def _convert(gene: Gene) -> Gene:
    """Brings every field of a gene to its plain Python type."""
    return gene._replace(
        **{field: _READERS[field](value) for field, value in gene._asdict().items()}
    )


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


_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "key": _read_key,
    "bias": float,
    "response": float,
    "activation": _read_name,
    "aggregation": _read_name,
    "time_constant": float,
    "source": _read_key,
    "target": _read_key,
    "weight": float,
    "enabled": _read_flag,
    "innovation": lambda value: None if value is None else _read_key(value),
}


def _check_functions(node: Node, genome: int) -> None:
    for what, name, known in (
        ("activation", node.activation, ACTIVATION_IDS),
        ("aggregation", node.aggregation, AGGREGATION_IDS),
    ):
        if name not in known:
            raise UnknownFunctionError(
                f'genome {genome}: node {node.key}: "{name}" is not a known {what}. '
                f"{did_you_mean(str(name), known)}",
                genome,
            )


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


class _Link(NamedTuple):
    connection: Connection
    rank: int


def _pack(
    node_lists: list[list[Node]], connection_lists: list[list[Connection]], dtype: RealType
) -> GeneArrays:
    nodes = [n for listed in node_lists for n in sorted(listed, key=lambda n: n.key)]
    links = [
        _Link(c, rank)
        for listed in connection_lists
        for rank, c in sorted(enumerate(listed), key=lambda item: item[1].innovation or 0)
    ]
    return GeneArrays(
        node_start=starts_of(np.array([len(listed) for listed in node_lists], np.int64)),
        node_key=np.array([n.key for n in nodes], np.int64),
        bias=np.array([n.bias for n in nodes], dtype),
        response=np.array([n.response for n in nodes], dtype),
        activation=np.array([activation_id(n.activation) for n in nodes], np.uint8),
        aggregation=np.array([aggregation_id(n.aggregation) for n in nodes], np.uint8),
        time_constant=np.array([n.time_constant for n in nodes], dtype),
        conn_start=starts_of(np.array([len(listed) for listed in connection_lists], np.int64)),
        innovation=np.array([link.connection.innovation for link in links], np.int64),
        source=np.array([link.connection.source for link in links], np.int64),
        target=np.array([link.connection.target for link in links], np.int64),
        weight=np.array([link.connection.weight for link in links], dtype),
        enabled=np.array([link.connection.enabled for link in links], np.bool_),
        rank=np.array([link.rank for link in links], np.int32),
    )
