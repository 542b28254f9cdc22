"""The schedule compiler told plainly: the oracle of the native one.

Follows neat-python's `feed_forward_layers`: enabled links only, nodes without
links on a level of their own, every other node one level after its latest
source; a node on or behind a cycle is never evaluated.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from evonet.population import Population

Links = dict[int, list[int]]  # target key -> positions of its enabled connections, in link order


def build(population: Population) -> tuple[dict[str, npt.NDArray[Any]], int]:
    """Compiles a population.

    Args:
        population: P genomes.

    Returns:
        The arrays of a Schedule by name, and the first genome with a cycle that
        its outputs need, or -1.
    """
    p = population
    node_start, edge_start, level_start, level_end = [0], [0], [0], []
    genes: list[int] = []  # position of each live node in the population
    links: list[int] = []  # position of each live connection
    source: list[int] = []
    output_slot = np.full((p.num_genomes, p.num_outputs), -1, np.int32)
    cyclic_genome = -1

    for g in range(p.num_genomes):
        position = {
            int(p.node_key[i]): i for i in range(int(p.node_start[g]), int(p.node_start[g + 1]))
        }
        incoming = links_by_target(p, g)
        levels, required = find_levels(p, incoming)
        if len(levels) < len(required) and cyclic_genome < 0:
            cyclic_genome = g

        order = order_nodes(p, levels, incoming, position)
        slot = {key: p.num_inputs + k for k, key in enumerate(order)}
        slot.update({-1 - i: i for i in range(p.num_inputs)})
        for key in order:
            genes.append(position[key])
            links.extend(incoming.get(key, ()))
            source.extend(slot[int(p.source[c])] for c in incoming.get(key, ()))
            edge_start.append(len(links))
        node_start.append(len(genes))
        count = 0
        for _, level in groupby(order, key=levels.__getitem__):
            count += len(list(level))
            level_end.append(count)
        level_start.append(len(level_end))
        for o in range(p.num_outputs):
            output_slot[g, o] = slot.get(o, -1)

    fields = {
        "node_start": np.array(node_start, np.int64),
        "node_key": p.node_key[genes],
        "bias": p.bias[genes],
        "response": p.response[genes],
        "activation": p.activation[genes],
        "aggregation": p.aggregation[genes],
        "edge_start": np.array(edge_start, np.int64),
        "source": np.array(source, np.int32),
        "weight": p.weight[links],
        "level_start": np.array(level_start, np.int64),
        "level_end": np.array(level_end, np.int32),
        "output_slot": output_slot,
    }
    return fields, cyclic_genome


def links_by_target(p: Population, genome: int) -> Links:
    """Groups a genome's enabled connections by the node that reads them."""
    begin, end = int(p.conn_start[genome]), int(p.conn_start[genome + 1])
    incoming: Links = {}
    for i in sorted(range(begin, end), key=p.rank.__getitem__):
        if p.enabled[i]:
            incoming.setdefault(int(p.target[i]), []).append(i)
    return incoming


def find_levels(p: Population, incoming: Links) -> tuple[dict[int, int], set[int]]:
    """Levels of all nodes that can be evaluated, and the nodes that outputs need.

    A node that outputs need and that has no level lies on or behind a cycle.
    """
    sources = {
        key: [int(p.source[c]) for c in links if p.source[c] >= 0]
        for key, links in incoming.items()
    }
    required = set(range(p.num_outputs))
    frontier = list(required)
    while frontier:
        for key in sources.get(frontier.pop(), ()):
            if key not in required:
                required.add(key)
                frontier.append(key)

    readers: Links = {}
    waiting = {key: len(sources.get(key, ())) for key in required}
    for key in required:
        for source in sources.get(key, ()):
            readers.setdefault(source, []).append(key)
    levels: dict[int, int] = {}
    ready = [key for key, count in waiting.items() if count == 0]
    while ready:
        key = ready.pop()
        if key in incoming:
            levels[key] = 1 + max((levels[s] for s in sources[key]), default=0)
        else:
            levels[key] = 0
        for reader in readers.get(key, ()):
            waiting[reader] -= 1
            if waiting[reader] == 0:
                ready.append(reader)
    return levels, required


def order_nodes(
    p: Population, levels: dict[int, int], incoming: Links, position: dict[int, int]
) -> list[int]:
    """Keys of the live nodes by (level, aggregation, activation, in-degree, key)."""

    def work(key: int) -> tuple[int, ...]:
        i = position[key]
        degree = len(incoming.get(key, ()))
        return levels[key], int(p.aggregation[i]), int(p.activation[i]), degree, key

    return sorted(levels, key=work)


def find_cycle(p: Population, genome: int) -> list[int]:
    """The keys along one cycle that keeps the genome's outputs from being evaluated."""
    incoming = links_by_target(p, genome)
    levels, required = find_levels(p, incoming)
    # A stuck node reads at least one stuck node, so walking against the links must come around.
    key = min(required - levels.keys())
    path: dict[int, None] = {}
    while key not in path:
        path[key] = None
        sources = (int(p.source[c]) for c in incoming[key])
        key = min(s for s in sources if s >= 0 and s not in levels)
    keys = list(path)
    return keys[keys.index(key) :][::-1]
