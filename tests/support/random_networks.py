"""Untidy random networks of all functions, and samples with every kind of number."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from evonet.functions.registry import ACTIVATIONS, AGGREGATIONS

NICE = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5)  # ties, and products that are exactly 0
SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-40, -1e-44, 3e38, -3e38, 1.0)
Genes = tuple[list[dict[str, Any]], list[tuple[int, int, float, bool]]]


def random_genes(
    rng: random.Random,
    num_inputs: int,
    num_outputs: int,
    num_hidden: int,
    cyclic: bool = False,
    degree: float = 2.0,
) -> Genes:
    """Draws the genes of one network, as `Population.from_genes` takes them.

    Nothing is tidy: outputs may feed hidden nodes and each other, nodes may read nothing or lead
    nowhere, a sixth of the links is disabled, keys may be sparse, links come in any order.

    Args:
        rng: The source of randomness.
        num_inputs: I.
        num_outputs: O.
        num_hidden: Hidden nodes.
        cyclic: Whether links may close cycles and self-loops.
        degree: Links drawn per node.
    """
    largest = num_outputs + 2 * num_hidden
    if rng.random() < 0.2:
        largest = 2**62
    hidden: set[int] = set()
    while len(hidden) < num_hidden:
        hidden.add(rng.randint(num_outputs, largest))
    keys = sorted(hidden)
    rng.shuffle(keys)
    outputs_last = rng.random() < 0.7  # then most nodes matter to some output
    keys += rng.sample(range(num_outputs), num_outputs)
    if not outputs_last:
        rng.shuffle(keys)
    nodes = [
        {
            "key": key,
            "bias": rng.choice(NICE) if rng.random() < 0.2 else rng.gauss(0, 1),
            "response": 1.0 if rng.random() < 0.6 else rng.gauss(0, 1.5),
            "activation": rng.choice(ACTIVATIONS).name,
            "aggregation": rng.choice(AGGREGATIONS).name,
        }
        for key in keys
    ]
    inputs = range(-num_inputs, 0)
    sources = [*inputs, *keys]
    links: dict[tuple[int, int], tuple[int, int, float, bool]] = {}
    for _ in range(round(degree * len(keys) * rng.random() * 2) if sources else 0):
        at = rng.randrange(len(keys))
        source = rng.choice(sources) if cyclic else rng.choice(sources[: num_inputs + at] or [0])
        if not cyclic and num_inputs + at == 0:
            continue
        weight = rng.choice(NICE) if rng.random() < 0.2 else rng.gauss(0, 2)
        if rng.random() < 0.01:
            weight *= 1e15
        pair = (source, keys[at])
        links.setdefault(pair, (*pair, weight, rng.random() < 5 / 6))
    listed = list(links.values())
    rng.shuffle(listed)
    return nodes, listed


def random_samples(rng: random.Random, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Draws samples; every tenth number is zero, infinite, denormal, huge or NaN."""
    values = np.random.default_rng(rng.getrandbits(64)).normal(0, 1.5, shape)
    flat = values.reshape(-1)
    for i in range(flat.size):
        if rng.random() < 0.1:
            flat[i] = rng.choice(SPECIAL)
    return values.astype(dtype)
