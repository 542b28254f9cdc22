"""Draws random networks with an exact number of nodes and connections.

All genomes are drawn at once. Seen from one target node, the possible sources form a row; all
rows one after the other number the possible connections of a genome 0, 1, 2, ..., and drawing
a network is drawing distinct numbers ("slots").
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evonet.errors import OptionError
from evonet.functions.registry import activation_id, aggregation_id
from evonet.genes.arrays import MOST_PINS, GeneArrays, Int64Array, RealType

# With at most this many slots per wanted connection it is cheaper to shuffle all slots than to
# draw some and to redraw those that were drawn twice.
DENSE: Final = 4
# How many nodes and connections are drawn at a time.
PART: Final = 1 << 21
# Normally distributed numbers of this scale fit into float32.
LARGEST_SCALE: Final = 1e30


def random_arrays(
    num_genomes: int,
    num_inputs: int,
    num_outputs: int,
    *,
    num_nodes: int,
    num_connections: int,
    dtype: RealType,
    seed: int,
    feed_forward: bool,
    activations: Sequence[str],
    aggregations: Sequence[str],
    enabled: float,
    weight_scale: float,
    bias_scale: float,
) -> GeneArrays:
    """Draws the arrays of `Population.random`, which documents the arguments."""
    for name, count, least in (
        ("num_genomes", num_genomes, 0),
        ("num_inputs", num_inputs, 0),
        ("num_outputs", num_outputs, 0),
        ("num_nodes", num_nodes, num_outputs),
        ("num_connections", num_connections, 0),
        ("seed", seed, 0),
    ):
        if index(count) < least:
            raise OptionError(f"{name}={count} is too small. Use {least} or more.")
    for name, value, most in (
        ("num_inputs", num_inputs, MOST_PINS),
        ("num_nodes", num_nodes, MOST_PINS),
        ("enabled", enabled, 1),
        ("weight_scale", weight_scale, LARGEST_SCALE),
        ("bias_scale", bias_scale, LARGEST_SCALE),
    ):
        if not 0 <= value <= most:
            raise OptionError(f"{name}={value} is not between 0 and {most}.")
    for name, names in (("activations", activations), ("aggregations", aggregations)):
        if not names or isinstance(names, str):
            raise OptionError(f"{name}={names!r} is not a list of at least one name.")
    activation_ids = np.array([activation_id(name) for name in activations], np.uint8)
    aggregation_ids = np.array([aggregation_id(name) for name in aggregations], np.uint8)

    rng = np.random.Generator(np.random.Philox(seed))
    graph = _Graph(num_inputs, num_nodes - num_outputs, num_outputs, feed_forward)
    pairs = _draw_pairs(rng, graph, num_genomes, num_connections)
    nodes, links = num_genomes * num_nodes, num_genomes * num_connections
    return GeneArrays(
        node_start=np.arange(num_genomes + 1, dtype=np.int64) * num_nodes,
        node_key=np.tile(np.arange(num_nodes, dtype=np.int64), num_genomes),
        bias=(rng.standard_normal(nodes) * bias_scale).astype(dtype),
        response=np.ones(nodes, dtype),
        activation=activation_ids[rng.integers(len(activation_ids), size=nodes)],
        aggregation=aggregation_ids[rng.integers(len(aggregation_ids), size=nodes)],
        time_constant=np.ones(nodes, dtype),
        conn_start=np.arange(num_genomes + 1, dtype=np.int64) * num_connections,
        innovation=pairs,
        source=pairs % graph.num_sources - num_inputs,
        target=pairs // graph.num_sources,
        weight=(rng.standard_normal(links) * weight_scale).astype(dtype),
        enabled=rng.random(links) < enabled,
        rank=np.tile(np.arange(num_connections, dtype=np.int32), num_genomes),
    )


class _Graph:
    """Numbers the connections that a network may have.

    A source is 0..I-1 for inputs, I..I+H-1 for hidden nodes in topological order, then outputs.
    A target is 0..H-1 for hidden nodes in topological order, then outputs.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int, feed_forward: bool) -> None:
        self.inputs, self.hidden, self.outputs = inputs, hidden, outputs
        self.num_sources = inputs + hidden + outputs
        if feed_forward:  # A node reads inputs and earlier hidden nodes; outputs read all of them.
            row = np.minimum(np.arange(hidden + outputs), hidden) + inputs
        else:
            row = np.full(hidden + outputs, self.num_sources)
        self.row_start = np.concatenate([[0], np.cumsum(row, dtype=np.int64)])
        self.num_slots = int(self.row_start[-1])
        self.kind = "feed-forward" if feed_forward else "recurrent"

    def slot(self, source: Int64Array, target: Int64Array) -> Int64Array:
        return self.row_start[target] + source

    def ends(self, slot: Int64Array) -> tuple[Int64Array, Int64Array]:
        target = np.searchsorted(self.row_start, slot, side="right") - 1
        return slot - self.row_start[target], target


def _draw_pairs(
    rng: np.random.Generator, graph: _Graph, num_genomes: int, num_connections: int
) -> Int64Array:
    """Draws which nodes are connected, a part of the genomes at a time to save memory.

    Returns `target * num_sources + source + num_inputs` with the keys of both ends, ascending
    inside each genome, [P * E]. Equal pairs have equal numbers: they serve as innovations too.
    """
    if num_connections > graph.num_slots:
        raise OptionError(
            f"num_connections={num_connections} does not fit. A {graph.kind} network of "
            f"{graph.inputs} inputs, {graph.hidden} hidden nodes and {graph.outputs} outputs has "
            f"room for {graph.num_slots}."
        )
    pairs = np.empty((num_genomes, num_connections), np.int64)
    part = max(1, PART // (1 + graph.hidden + num_connections))
    for start in range(0, num_genomes, part):
        rows = pairs[start : start + part]
        hidden_keys = np.tile(np.arange(graph.hidden) + graph.outputs, (len(rows), 1))
        hidden_keys = rng.permuted(hidden_keys, axis=1)
        needed = _draw_needed(rng, graph, len(rows))
        slots = _draw_slots(rng, graph.num_slots, needed, num_connections)
        rows[:] = _pairs_of_slots(graph, slots, hidden_keys)
        rows.sort(axis=1)
    return pairs.ravel()


def _pairs_of_slots(graph: _Graph, slots: Int64Array, hidden_keys: Int64Array) -> Int64Array:
    """Turns slots, which count in topological order, into pairs of keys, [P, E]."""
    genomes = len(slots)
    inputs = np.tile(np.arange(-1, -graph.inputs - 1, -1), (genomes, 1))
    outputs = np.tile(np.arange(graph.outputs), (genomes, 1))
    targets = np.concatenate([hidden_keys, outputs], axis=1)
    sources = np.concatenate([inputs, targets], axis=1)
    source, target = graph.ends(slots)
    source = np.take_along_axis(sources, source, axis=1)
    target = np.take_along_axis(targets, target, axis=1)
    return target * graph.num_sources + source + graph.inputs


def _draw_needed(rng: np.random.Generator, graph: _Graph, num_genomes: int) -> Int64Array:
    """Draws the connections without which a node would have no effect or no input.

    First, every hidden node needs a later node or an output that reads it: then all of them matter
    to the outputs. After that, every node needs something to read. Returns slots in order of
    importance, with repetitions, [P, at most 2 H + O].
    """
    inputs, hidden, outputs = graph.inputs, graph.hidden, graph.outputs
    position = np.arange(hidden)
    needed = [np.zeros((num_genomes, 0), np.int64)]
    if outputs:
        later = hidden - 1 - position + outputs
        reader = position + 1 + rng.integers(later, size=(num_genomes, hidden))
        needed.append(rng.permuted(graph.slot(position + inputs, reader), axis=1))
    if inputs + hidden:
        listener = np.arange(0 if inputs else 1, hidden + outputs)
        earlier = inputs + np.minimum(listener, hidden)
        source = rng.integers(earlier, size=(num_genomes, len(listener)))
        needed.append(rng.permuted(graph.slot(source, listener), axis=1))
    return np.concatenate(needed, axis=1)


def _draw_slots(
    rng: np.random.Generator, num_slots: int, needed: Int64Array, wanted: int
) -> Int64Array:
    """Draws distinct slots in any order, [P, wanted], the needed ones, [P, W], before others."""
    num_genomes, num_needed = needed.shape
    if wanted == 0:
        return np.zeros((num_genomes, 0), np.int64)
    if num_slots <= DENSE * wanted:
        priority = rng.random((num_genomes, num_slots))
        # Backwards, so that of a repeated slot the first and most important one counts.
        backwards = np.arange(num_needed)[::-1]
        np.put_along_axis(priority, needed[:, backwards], backwards - float(num_needed), axis=1)
        return np.argpartition(priority, wanted - 1, axis=1)[:, :wanted]
    # Of m draws about m - m^2 / 8 wanted differ, so 1.2 times as many are nearly always enough.
    slots, more = needed, wanted + wanted // 5 + 16
    while True:
        drawn = rng.integers(num_slots, size=(num_genomes, more))
        slots = np.concatenate([slots, drawn], axis=1)
        fresh = _first_occurrences(slots)
        count = np.cumsum(fresh, axis=1)
        if (count[:, -1] >= wanted).all():
            return slots[fresh & (count <= wanted)].reshape(num_genomes, wanted)


def _first_occurrences(values: Int64Array) -> NDArray[np.bool_]:
    """Marks in each row the values that did not appear before in that row, [P, M]."""
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    new = np.ones(values.shape, np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    fresh = np.empty_like(new)
    np.put_along_axis(fresh, order, new, axis=1)
    return fresh
