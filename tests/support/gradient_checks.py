"""Central differences, to compare gradients with."""

from __future__ import annotations

from typing import Any

import numpy as np

import evonet
from evonet import Population

H = 1e-6


def loss_of(population: Population, x: Any, targets: Any, loss: str, **options: Any) -> Any:
    """[P] losses from outputs alone, on the backend "cpu" or what stands in for it."""
    network = evonet.compile(population, **options)
    if network.kind == "feedforward":
        return network.loss(x, targets, loss)
    network.reset()
    total = np.zeros(len(population))
    for t, samples in enumerate(x):
        y = network(samples)
        if targets.ndim == 3:
            total += ((y - targets[t]) ** 2).sum(axis=(1, 2))
        elif t == len(x) - 1:
            total += ((y - targets) ** 2).sum(axis=(1, 2))
    return total


def worst_error(
    population: Population,
    x: Any,
    targets: Any,
    found: dict[str, Any],
    loss: str = "squared",
    **options: Any,
) -> float:
    """The largest distance of gradients from central differences, where differences are reliable.

    Two widths of the difference must agree: they do not at kinks, ties and jumps. Distances are
    relative to the derivative, or to 1 and to the loss if those are larger.
    """
    worst = 0.0
    losses = abs(loss_of(population, x, targets, loss, **options))
    for name in found.keys() - {"x"}:
        now = getattr(population, name)
        start = population.conn_start if name == "weight" else population.node_start
        for j in range(int(np.diff(start).max())):
            genes = start[:-1] + j
            there = genes < start[1:]

            changed = [now.copy() for _ in range(4)]
            for other, h in zip(changed, (H, -H, 2 * H, -2 * H), strict=True):
                other[genes[there]] += h
            around = [
                loss_of(population.replace(**{name: other}), x, targets, loss, **options)[there]
                for other in changed
            ]
            narrow, wide = (around[0] - around[1]) / (2 * H), (around[2] - around[3]) / (4 * H)
            scale = np.maximum(np.maximum(1, abs(narrow)), losses[there])
            smooth = abs(narrow - wide) <= 1e-5 * scale
            error = abs(found[name][genes[there]] - narrow) / scale
            worst = max(worst, float(error[smooth].max(initial=0)))
    return worst
