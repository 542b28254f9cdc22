"""The baseline without any library but NumPy: whole populations as dense arrays, by levels."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.bench.peers.formulas import FORMULAS
from evonet.schedule import Schedule

Array = npt.NDArray[np.float32]


class NumpyNetworks:
    """P networks as one array of weights per level, padded to the widest genome.

    A level of all genomes is one batched matrix product, which NumPy hands to BLAS.
    """

    def __init__(self, schedule: Schedule, activation: str) -> None:
        """Fills the arrays.

        Args:
            schedule: Of nodes that all sum, with response 1.
            activation: That all nodes have, one of `FORMULAS`.
        """
        self._formula = FORMULAS[activation]
        inputs, genomes = schedule.num_inputs, schedule.num_genomes
        genome, level, position = node_places(schedule)
        depth = int(level.max(initial=-1)) + 1
        width = np.zeros(depth, np.int64)
        np.maximum.at(width, level, position + 1)
        start = np.concatenate([[inputs], inputs + np.cumsum(width)])
        slot = start[level] + position  # of every live node, padding included

        self._levels: list[tuple[int, int]] = [(int(a), int(b)) for a, b in pairwise(start)]
        self._weights: list[Array] = [
            np.zeros((genomes, end - begin, begin), np.float32) for begin, end in self._levels
        ]
        self._bias = np.zeros((genomes, int(start[-1]), 1), np.float32)
        self._bias[genome, slot, 0] = schedule.bias
        target = np.repeat(np.arange(schedule.num_nodes), np.diff(schedule.edge_start))
        source = _padded_source(schedule, genome[target], slot)
        for number, weights in enumerate(self._weights):
            of_level = level[target] == number
            node = target[of_level]
            place = genome[node], position[node], source[of_level]
            np.add.at(weights, place, schedule.weight[of_level])
        outputs = schedule.output_slot
        first = schedule.node_start[:-1, None]
        node = np.where(outputs >= inputs, first + outputs - inputs, 0)
        self._outputs = np.where(outputs >= inputs, slot[node], outputs)
        self._num_slots = int(start[-1])

    def __call__(self, x: npt.NDArray[Any]) -> Array:
        """Evaluates x [B, I], or [P, B, I], to [P, B, O]."""
        genomes = len(self._bias)
        values = np.empty((genomes, self._num_slots, x.shape[-2]), np.float32)
        values[:, : x.shape[-1]] = np.swapaxes(x, -1, -2)
        for (begin, end), weights in zip(self._levels, self._weights, strict=True):
            total = weights @ values[:, :begin]
            total += self._bias[:, begin:end]
            values[:, begin:end] = self._formula(total)
        picked: Array = values[np.arange(genomes)[:, None], self._outputs]
        return np.swapaxes(picked, 1, 2)


def node_places(
    schedule: Schedule,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """[N] genome, level and place in the level of every live node."""
    genome = np.repeat(np.arange(schedule.num_genomes), np.diff(schedule.node_start))
    inside = np.arange(schedule.num_nodes) - schedule.node_start[genome]
    level = np.zeros(schedule.num_nodes, np.int64)
    position = np.zeros(schedule.num_nodes, np.int64)
    for g in range(schedule.num_genomes):
        ends = schedule.level_end[schedule.level_start[g] : schedule.level_start[g + 1]]
        nodes = slice(schedule.node_start[g], schedule.node_start[g + 1])
        level[nodes] = np.searchsorted(ends, inside[nodes], side="right")
        begins = np.concatenate([[0], ends[:-1]])
        position[nodes] = inside[nodes] - begins[level[nodes]]
    return genome, level, position


def _padded_source(
    schedule: Schedule, genome: npt.NDArray[np.int64], slot: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """[E] the padded slot that each link reads; genome [E] says whose link it is."""
    source = schedule.source.astype(np.int64)
    node = schedule.node_start[genome] + source - schedule.num_inputs
    of_node = source >= schedule.num_inputs
    return np.where(of_node, slot[np.where(of_node, node, 0)], source)
