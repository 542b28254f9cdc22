"""SciPy's sparse matrices: one for each level of the whole population, without padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.bench.peers.formulas import FORMULAS
from evonet.bench.peers.numpy_networks import node_places
from evonet.schedule import Schedule


class ScipyNetworks:
    """P networks as one block-diagonal matrix per level, in compressed rows."""

    def __init__(self, schedule: Schedule, activation: str) -> None:
        """Fills the matrices.

        Args:
            schedule: Of nodes that all sum, with response 1.
            activation: That all nodes have, one of `FORMULAS`.
        """
        from scipy.sparse import csr_matrix

        self._formula = FORMULAS[activation]
        inputs, genomes = schedule.num_inputs, schedule.num_genomes
        genome, level, _ = node_places(schedule)
        # Shared inputs come first, then the nodes of all genomes, level by level, so that a
        # level's answers are one slice.
        order = np.argsort(level, kind="stable")
        row = np.empty(schedule.num_nodes, np.int64)
        row[order] = inputs + np.arange(schedule.num_nodes)
        target = np.repeat(np.arange(schedule.num_nodes), np.diff(schedule.edge_start))
        source = schedule.source.astype(np.int64)
        node = schedule.node_start[genome[target]] + source - inputs
        of_node = source >= inputs
        column = np.where(of_node, row[np.where(of_node, node, 0)], source)

        self._levels: list[tuple[int, int, Any]] = []
        begin = inputs
        for number in range(int(level.max(initial=-1)) + 1):
            end = begin + int((level == number).sum())
            links = level[target] == number
            entries = schedule.weight[links], (row[target[links]] - begin, column[links])
            self._levels.append((begin, end, csr_matrix(entries, shape=(end - begin, begin))))
            begin = end
        self._bias = np.zeros((begin, 1), np.float32)
        self._bias[row, 0] = schedule.bias
        outputs = schedule.output_slot
        first = schedule.node_start[:-1, None]
        of_node = outputs >= inputs
        self._outputs = np.where(of_node, row[np.where(of_node, first + outputs - inputs, 0)], 0)
        self._outputs = np.where(of_node, self._outputs, outputs)
        self._shape = genomes, begin

    def __call__(self, x: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Evaluates x [B, I] to [P, B, O]."""
        values = np.empty((self._shape[1], x.shape[0]), np.float32)
        values[: x.shape[1]] = x.T
        for begin, end, weights in self._levels:
            total = weights @ values[:begin]
            total += self._bias[begin:end]
            values[begin:end] = self._formula(total)
        return np.swapaxes(values[self._outputs], 1, 2)
