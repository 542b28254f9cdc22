"""Networks of a given depth, for measurements."""

from __future__ import annotations

import numpy as np

from evonet.functions.registry import activation_id, aggregation_id
from evonet.genes.population import Population


def layered_population(num_genomes: int, depth: int, num_hidden: int) -> Population:
    """Genomes with hidden nodes in so many levels of equal width.

    Every hidden node reads an input and the node before it in its column, or two inputs on the
    first level; the single output reads the last level.

    Args:
        num_genomes: P.
        depth: Levels of hidden nodes, at least 1.
        num_hidden: Hidden nodes in all, cut down to a multiple of depth.
    """
    num_inputs, width = 8, num_hidden // depth
    hidden = np.arange(1, 1 + width * depth)
    column, level = (hidden - 1) % width, (hidden - 1) // width
    before = np.where(level == 0, -1 - (column + 1) % num_inputs, hidden - width)
    source = np.concatenate([-1 - column % num_inputs, before, hidden[-width:]])
    target = np.concatenate([hidden, hidden, np.zeros(width, np.int64)])
    num_nodes, num_links = 1 + len(hidden), len(source)
    rng = np.random.default_rng(depth)
    nodes, links = num_genomes * num_nodes, num_genomes * num_links
    ones = np.ones(nodes, np.float32)
    return Population(
        num_inputs=num_inputs,
        num_outputs=1,
        node_start=num_nodes * np.arange(num_genomes + 1),
        node_key=np.tile(np.arange(num_nodes), num_genomes),
        bias=rng.standard_normal(nodes).astype(np.float32),
        response=ones,
        activation=np.full(nodes, activation_id("sigmoid"), np.uint8),
        aggregation=np.full(nodes, aggregation_id("sum"), np.uint8),
        time_constant=ones,
        conn_start=num_links * np.arange(num_genomes + 1),
        innovation=np.tile(np.arange(num_links), num_genomes),
        source=np.tile(source, num_genomes),
        target=np.tile(target, num_genomes),
        weight=rng.standard_normal(links).astype(np.float32),
        enabled=np.ones(links, bool),
        rank=np.tile(np.arange(num_links, dtype=np.int32), num_genomes),
    )
