"""One genome of a population, in a form that people can read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE

if TYPE_CHECKING:
    from evonet.genes.population import Population


class Node(NamedTuple):
    """One node gene; a node computes `activation(bias + response * aggregation(links))`.

    Attributes:
        key: 0..O-1 for an output node, O and above for a hidden one.
        bias: Added to the aggregate.
        response: Multiplies the aggregate.
        activation: Name of the activation function.
        aggregation: Name of the function that joins the links.
        time_constant: How slowly a continuous-time node follows its input, in seconds.
    """

    key: int
    bias: float = 0.0
    response: float = 1.0
    activation: str = "sigmoid"
    aggregation: str = "sum"
    time_constant: float = 1.0


class Connection(NamedTuple):
    """One connection gene.

    Attributes:
        source: Key of a node, or -1..-I for an input.
        target: Key of a node.
        weight: Multiplies the source's value.
        enabled: A disabled connection is kept in the genome but carries nothing.
        innovation: Number of the mutation that invented it; None where it is still to be assigned.
    """

    source: int
    target: int
    weight: float
    enabled: bool = True
    innovation: int | None = None


class Genome:
    """A readable view of one genome.

    Two genomes are equal if all their genes are, whatever population they come from.
    """

    __slots__ = ("_population",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, population: Population) -> None:
        """Views a population of exactly one genome."""
        if len(population) != 1:
            raise ValueError(f"A Genome views a population of 1, not of {len(population)}.")
        self._population = population

    @property
    def population(self) -> Population:
        """This genome as a population of one; it shares the memory of the population it is from."""
        return self._population

    @property
    def num_inputs(self) -> int:
        """How many inputs the network has."""
        return self._population.num_inputs

    @property
    def num_outputs(self) -> int:
        """How many outputs the network has."""
        return self._population.num_outputs

    @property
    def num_nodes(self) -> int:
        """How many node genes there are: outputs and hidden nodes, not inputs."""
        return self._population.num_nodes

    @property
    def num_connections(self) -> int:
        """How many connection genes there are, enabled or not."""
        return self._population.num_connections

    @property
    def nodes(self) -> list[Node]:
        """The node genes by ascending key."""
        p = self._population
        columns = (p.node_key, p.bias, p.response, p.activation, p.aggregation, p.time_constant)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [
            Node(key, bias, response, ACTIVATION_TABLE[act].name, AGGREGATION_TABLE[agg].name, tau)
            for key, bias, response, act, agg, tau in rows
        ]

    @property
    def connections(self) -> list[Connection]:
        """The connection genes in the order in which the genome lists them."""
        p = self._population
        listed = np.argsort(p.rank)
        columns = (p.source, p.target, p.weight, p.enabled, p.innovation)
        rows = zip(*(column[listed].tolist() for column in columns), strict=True)
        return [Connection(*row) for row in rows]

    def __eq__(self, other: object) -> bool:
        """Compares all genes bit by bit."""
        if not isinstance(other, Genome):
            return NotImplemented
        return self._population == other._population

    def __repr__(self) -> str:
        return (
            f"Genome(inputs={self.num_inputs}, outputs={self.num_outputs}, "
            f"nodes={self.num_nodes}, connections={self.num_connections})"
        )

    def __str__(self) -> str:
        """Draws all genes as two tables."""
        enabled = int(np.count_nonzero(self._population.enabled))
        hidden = self.num_nodes - self.num_outputs
        nodes = [
            (key, "output" if key < self.num_outputs else "hidden", *genes)
            for key, *genes in self.nodes
        ]
        connections = [
            (source, target, weight, "" if on else "off", innovation)
            for source, target, weight, on, innovation in self.connections
        ]
        node_head = ("node", "kind", "bias", "response", "activation", "aggregation", "tau")
        return "\n".join(
            [
                f"Genome: {self.num_inputs} inputs, {self.num_outputs} outputs, {hidden} hidden "
                f"nodes, {self.num_connections} connections ({enabled} enabled)",
                *_table(node_head, nodes),
                *_table(("source", "target", "weight", "", "innovation"), connections),
            ]
        )


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Lays out rows under a head, columns right-aligned; nothing if there are no rows."""
    if not rows:
        return []
    cells = [[f"{c:.4g}" if isinstance(c, float) else str(c) for c in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(map(str.rjust, row, widths)) for row in cells)
    return [f"  {line}".rstrip() for line in lines]
