"""Where a schedule's nodes and links are among the genes of its population."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from evonet.installation import load_native, require_native

if TYPE_CHECKING:
    from evonet.genes.population import Population
    from evonet.schedule.schedule import Schedule

Ints = npt.NDArray[np.int64]
Array = npt.NDArray[Any]


class GeneMap(NamedTuple):
    """Positions of genes, by what became of them in a schedule.

    Attributes:
        node: [N] the gene of each live node.
        link: [E] the gene of each link.
        num_nodes: Node genes of the population.
        num_connections: Connection genes of the population.
    """

    node: Ints
    link: Ints
    num_nodes: int
    num_connections: int

    def of_nodes(self, numbers: Array) -> Array:
        """Numbers [N] of live nodes in the layout of node genes, 0 for all others."""
        found = np.zeros(self.num_nodes, numbers.dtype)
        found[self.node] = numbers
        return found

    def of_links(self, numbers: Array) -> Array:
        """Numbers [E] of links in the layout of connection genes, 0 for all others."""
        found = np.zeros(self.num_connections, numbers.dtype)
        found[self.link] = numbers
        return found


def map_genes(
    population: Population, schedule: Schedule, *, threads: int = 0, native: bool | None = None
) -> GeneMap:
    """Finds the genes of a schedule that was built from a population.

    Args:
        population: P genomes.
        schedule: Theirs.
        threads: Threads to use; 0 for all available.
        native: True for compiled code, False for the readable one; None takes the compiled one
            where it exists. Both give equal arrays.

    Raises:
        BackendError: native is True, and the extension was not built.
        ShapeError: The schedule was built from other genomes.
    """
    p, s = population, schedule
    extension = None if native is False else require_native() if native else load_native()
    if extension is None:
        return _map_readably(p, s)
    node, link = np.empty(s.num_nodes, np.int64), np.empty(s.num_edges, np.int64)
    extension.map_genes(
        p.num_inputs,
        p.num_outputs,
        p.node_start,
        p.node_key,
        p.conn_start,
        p.source,
        p.target,
        p.enabled,
        p.rank,
        s.node_start,
        s.node_key,
        s.edge_start,
        threads,
        node,
        link,
    )
    return GeneMap(node, link, p.num_nodes, p.num_connections)


def _map_readably(p: Population, s: Schedule) -> GeneMap:
    """A live node reads all enabled connections that end at it, in the order of their ranks."""
    node, link = np.empty(s.num_nodes, np.int64), np.empty(s.num_edges, np.int64)
    for g in range(s.num_genomes):
        live = slice(int(s.node_start[g]), int(s.node_start[g + 1]))
        keys = p.node_key[p.node_start[g] : p.node_start[g + 1]]
        positions = np.searchsorted(keys, s.node_key[live])
        node[live] = p.node_start[g] + positions
        turn = np.full(len(keys), -1)
        turn[positions] = np.arange(len(positions))
        genes = slice(int(p.conn_start[g]), int(p.conn_start[g + 1]))
        target = turn[np.searchsorted(keys, p.target[genes])]
        read = np.flatnonzero(p.enabled[genes] & (target >= 0))
        edges = slice(int(s.edge_start[live.start]), int(s.edge_start[live.stop]))
        order = np.lexsort((p.rank[genes][read], target[read]))
        link[edges] = genes.start + read[order]
    return GeneMap(node, link, p.num_nodes, p.num_connections)
