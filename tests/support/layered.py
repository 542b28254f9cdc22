"""Layered networks in which samples die out."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np

from evonet import Population
from evonet.genes.genome import Connection, Node


def layered_genes(
    width: int,
    depth: int,
    *,
    num_links: int = 4,
    bias: float = -0.6,
    activation: str = "relu",
    skip: bool = False,
    seed: int = 0,
) -> tuple[list[Node], list[Connection]]:
    """A network of `depth` layers, each as wide as the inputs; the last one is the output.

    Every node reads some nodes of the layer before it, with positive weights; with `skip`, the
    last layer also reads inputs.
    """
    rng = random.Random(seed)
    hidden = width * (depth - 1)
    layers = [[-1 - i for i in range(width)]]
    layers += [[width + layer * width + i for i in range(width)] for layer in range(depth - 1)]
    layers.append(list(range(width)))
    nodes = [
        Node(key=key, activation=activation, aggregation="sum", bias=bias)
        for key in range(width + hidden)
    ]
    links = [
        (source, target, rng.choice((0.25, 0.5, 0.75)))
        for before, layer in itertools.pairwise(layers)
        for target in layer
        for source in rng.sample(before, num_links)
    ]
    if skip:
        links += [(layers[0][i], layers[-1][i], 1.0) for i in range(width)]
    connections = [
        Connection(source, target, weight, True, i)
        for i, (source, target, weight) in enumerate(links)
    ]
    return nodes, connections


def layered_population(
    count: int, width: int, depth: int, dtype: Any, **options: Any
) -> Population:
    """Several of them, each with its own links."""
    genes = [layered_genes(width, depth, seed=seed, **options) for seed in range(count)]
    return Population.from_genes(width, width, genes, dtype)


def sparse_samples(*shape: int, dtype: Any, density: float = 0.5, seed: int = 0) -> np.ndarray:
    """Samples of zeros and ones, some rows of which have few ones and die early."""
    rng = np.random.default_rng(seed)
    lively = rng.random((*shape[:-1], 1)) * 2 * density
    return (rng.random(shape) < lively).astype(dtype)
