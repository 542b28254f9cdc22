"""A readable schedule builder: the oracle of the native one.

Follows neat-python's `feed_forward_layers`: enabled links only, nodes without
links on a level of their own, every other node one level after its latest
source; a node on or behind a cycle is never evaluated.

In networks with memory some links or all of them act one step later: they read
what their source remembers, and no level depends on them.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.functions.registry import ACTIVATION_IDS, AGGREGATION_IDS
from evonet.schedule.lifetimes import reuse_slots

if TYPE_CHECKING:
    from evonet.genes.population import Population

Links = dict[int, list[int]]  # target key -> positions of its enabled connections, in link order

# When links act, as kernels/native/compile_schedule.h numbers it.
LEVELS: Final = 0
NEXT_STEP: Final = 1
SAME_STEP: Final = 2
SPIKES: Final = 3


def build(
    population: Population, wiring: int = LEVELS, num_states: int = 0, reuse: bool = False
) -> tuple[dict[str, npt.NDArray[Any]], int]:
    """Compiles a population.

    Args:
        population: P genomes.
        wiring: When links act.
        num_states: C, how many numbers each node remembers.
        reuse: Whether values whose last reader is done give their slots to others; networks with
            memory keep all values.

    Returns:
        The arrays of a Schedule by name, and the first genome with a cycle that its outputs
        need, or -1. In networks with memory also `gene`: [N] where each live node is in the
        population.
    """
    p = population
    node_start, edge_start, level_start, level_end = [0], [0], [0], []
    genes: list[int] = []  # position of each live node in the population
    links: list[int] = []  # position of each live connection
    node_slot: list[int] = []
    num_slots: list[int] = []
    source: list[int] = []
    bias: list[Any] = []
    response: list[Any] = []
    activation: list[int] = []
    aggregation: list[int] = []
    output_slot = np.full((p.num_genomes, p.num_outputs), -1, np.int32)
    cyclic_genome = -1

    for g in range(p.num_genomes):
        position = {
            int(p.node_key[i]): i for i in range(int(p.node_start[g]), int(p.node_start[g + 1]))
        }
        incoming = links_by_target(p, g)
        later = links_of_the_next_step(p, incoming, wiring)
        levels, required = find_levels(p, incoming, later)
        if len(levels) < len(required) and cyclic_genome < 0:
            cyclic_genome = g
        if wiring in (NEXT_STEP, SPIKES):
            levels = dict.fromkeys(levels, 0)

        functions = {key: functions_of(p, position[key], key in incoming, wiring) for key in levels}
        order = order_nodes(levels, incoming, functions)
        if reuse and wiring == LEVELS:
            read = {key: [int(p.source[c]) for c in incoming.get(key, ())] for key in order}
            slot = reuse_slots(order, levels, read, range(p.num_outputs), p.num_inputs)
            num_slots.append(max(slot.values(), default=p.num_inputs - 1) + 1)
        else:
            slot = {key: p.num_inputs + k for k, key in enumerate(order)}
            num_slots.append(p.num_inputs + (1 + num_states) * len(order))
        slot.update({-1 - i: i for i in range(p.num_inputs)})
        for key in order:
            genes.append(position[key])
            node_slot.append(slot[key])
            bias.append(0 if is_idle(key in incoming, wiring) else p.bias[position[key]])
            adds = wiring == SPIKES or is_idle(key in incoming, wiring)
            response.append(1 if adds else p.response[position[key]])
            aggregation.append(functions[key][0])
            activation.append(functions[key][1])
            links.extend(incoming.get(key, ()))
            source.extend(
                slot[int(p.source[c])] + (len(order) if c in later else 0)
                for c in incoming.get(key, ())
            )
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
        "bias": np.array(bias, p.dtype),
        "response": np.array(response, p.dtype),
        "activation": np.array(activation, np.uint8),
        "aggregation": np.array(aggregation, np.uint8),
        "slot": np.array(node_slot, np.int32),
        "num_slots": np.array(num_slots, np.int64),
        "edge_start": np.array(edge_start, np.int64),
        "source": np.array(source, np.int32),
        "weight": p.weight[links],
        "level_start": np.array(level_start, np.int64),
        "level_end": np.array(level_end, np.int32),
        "output_slot": output_slot,
    }
    if wiring != LEVELS:
        fields["gene"] = np.array(genes, np.int64)
    return fields, cyclic_genome


def is_idle(linked: bool, wiring: int) -> bool:
    """Whether a node is never evaluated and stays 0."""
    return wiring == NEXT_STEP and not linked


def functions_of(p: Population, gene: int, linked: bool, wiring: int) -> tuple[int, int]:
    """The aggregation and the activation of a node; neurons and idle nodes only add up."""
    if wiring == SPIKES or is_idle(linked, wiring):
        return AGGREGATION_IDS["sum"], ACTIVATION_IDS["identity"]
    return int(p.aggregation[gene]), int(p.activation[gene])


def links_of_the_next_step(p: Population, incoming: Links, wiring: int) -> set[int]:
    """Positions of the connections that act one step later.

    With `SAME_STEP` those are the links that close a cycle: a walk from the outputs, against the
    links and in their order, meets a node whose own sources are still being walked.
    """
    if wiring == LEVELS:
        return set()
    if wiring != SAME_STEP:
        return {c for links in incoming.values() for c in links if p.source[c] >= 0}
    later: set[int] = set()
    finished: dict[int, bool] = {}  # False while a node is open
    for output in range(p.num_outputs):
        if output in finished:
            continue
        finished[output] = False
        path = [(output, iter(incoming.get(output, ())))]
        while path:
            key, links = path[-1]
            for c in links:
                source = int(p.source[c])
                if source < 0 or finished.get(source, False):
                    continue
                if source in finished:
                    later.add(c)
                    continue
                finished[source] = False
                path.append((source, iter(incoming.get(source, ()))))
                break
            else:
                finished[key] = True
                path.pop()
    return later


def links_by_target(p: Population, genome: int) -> Links:
    """Groups a genome's enabled connections by the node that reads them."""
    begin, end = int(p.conn_start[genome]), int(p.conn_start[genome + 1])
    incoming: Links = {}
    for i in sorted(range(begin, end), key=p.rank.__getitem__):
        if p.enabled[i]:
            incoming.setdefault(int(p.target[i]), []).append(i)
    return incoming


def find_levels(
    p: Population, incoming: Links, later: Container[int] = ()
) -> tuple[dict[int, int], set[int]]:
    """Levels of all nodes that can be evaluated, and the nodes that outputs need.

    A node that outputs need and that has no level lies on or behind a cycle. No level depends on
    links that act later.
    """
    required = set(range(p.num_outputs))
    frontier = list(required)
    while frontier:
        for c in incoming.get(frontier.pop(), ()):
            key = int(p.source[c])
            if key >= 0 and key not in required:
                required.add(key)
                frontier.append(key)
    sources = {
        key: [int(p.source[c]) for c in links if p.source[c] >= 0 and c not in later]
        for key, links in incoming.items()
    }

    readers: Links = {}
    waiting = {key: len(sources.get(key, ())) for key in required}
    for key in required:
        for source in sources.get(key, ()):
            readers.setdefault(source, []).append(key)
    levels: dict[int, int] = {}
    ready = [key for key, count in waiting.items() if count == 0]
    while ready:
        key = ready.pop()
        if any(c not in later for c in incoming.get(key, ())):
            levels[key] = 1 + max((levels[s] for s in sources[key]), default=0)
        else:
            levels[key] = 0
        for reader in readers.get(key, ()):
            waiting[reader] -= 1
            if waiting[reader] == 0:
                ready.append(reader)
    return levels, required


def order_nodes(
    levels: dict[int, int], incoming: Links, functions: dict[int, tuple[int, int]]
) -> list[int]:
    """Keys of the live nodes by (level, aggregation, activation, in-degree, key)."""

    def work(key: int) -> tuple[int, ...]:
        return levels[key], *functions[key], len(incoming.get(key, ())), key

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
