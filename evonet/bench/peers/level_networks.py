"""Networks on NumPy and on SciPy: rows of values, all genomes at once, level by level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.schedule.schedule import Schedule
from evonet.schedule.slots import trace_slots

Values = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
Sums = Callable[[Values], Values]
"""Computes the pre-activations of a level [rows, B] from the values of all rows."""

FORMULAS: Final[dict[str, Callable[[Values], Values]]] = {
    "sigmoid": lambda z: 1 / (1 + np.exp(np.clip(-5 * z, -60, 60))),
    "tanh": lambda z: np.tanh(2.5 * z),
    "relu": lambda z: np.maximum(z, 0),
}


@dataclass(frozen=True)
class Level:
    """The nodes of one level, of all genomes: rows `begin` to `end`."""

    begin: int
    end: int
    start: Indices  # [rows + 1] first link of each node
    source: Indices  # [links] rows that are read
    weight: Values  # [links]
    bias: Values  # [rows, 1]


def numpy_sums(level: Level) -> Sums:
    """The baseline without any library but NumPy: links are gathered, multiplied and added up."""
    # A sum over no links would take the next node's.
    linked = np.flatnonzero(np.diff(level.start))

    def sums(values: Values) -> Values:
        products = values[level.source]
        products *= level.weight[:, None]
        total = np.repeat(level.bias, values.shape[1], axis=1)
        if len(linked):
            total[linked] += np.add.reduceat(products, level.start[linked], axis=0)
        return total

    return sums


def scipy_sums(level: Level) -> Sums:
    """SciPy's sparse matrices: one for each level of the whole population, without padding."""
    from scipy.sparse import csr_matrix

    shape = level.end - level.begin, level.begin
    matrix: Any = csr_matrix((level.weight, level.source, level.start), shape=shape)

    def sums(values: Values) -> Values:
        total: Values = matrix @ values[: level.begin]
        total += level.bias
        return total

    return sums


class LevelNetworks:
    """P networks whose levels are computed one after the other, of all genomes at once."""

    def __init__(
        self,
        schedule: Schedule,
        activation: str,
        sums_of: Callable[[Level], Sums] = numpy_sums,
        own_inputs: bool = False,
    ) -> None:
        """Numbers the rows: inputs first, then the nodes of all genomes, level by level.

        All nodes must sum, with response 1, and have one activation of `FORMULAS`. Each genome may
        have samples of its own.
        """
        s, each = schedule, schedule.num_inputs
        self._formula = FORMULAS[activation]
        self._num_inputs = each * s.num_genomes if own_inputs else each
        self._num_rows = self._num_inputs + s.num_nodes
        level = _levels(s)
        order = np.argsort(level, kind="stable")
        row = np.empty(s.num_nodes, np.int64)
        row[order] = self._num_inputs + np.arange(s.num_nodes)

        def rows_of(positions: Indices, genome: Indices) -> Indices:
            """Rows of the inputs and live nodes of genomes."""
            shift = each * genome if own_inputs else np.zeros_like(genome)
            node = s.node_start[genome] + positions - each
            is_node = positions >= each
            return np.where(is_node, row[np.where(is_node, node, 0)], positions + shift)

        degree, read = np.diff(s.edge_start), trace_slots(s)
        genome = np.repeat(np.arange(s.num_genomes), np.diff(s.node_start))
        source = rows_of(read.source, np.repeat(genome, degree))
        self._outputs = rows_of(read.output, np.arange(s.num_genomes)[:, None])
        # All links in the order of the rows that read them.
        start = np.concatenate([[0], np.cumsum(degree[order])])
        links = np.repeat(s.edge_start[order] - start[:-1], degree[order]) + np.arange(s.num_edges)
        self._levels = []
        for begin, end in pairwise([0, *np.cumsum(np.bincount(level)).tolist()]):
            inside = links[start[begin] : start[end]]
            made = Level(
                begin=self._num_inputs + begin,
                end=self._num_inputs + end,
                start=start[begin : end + 1] - start[begin],
                source=source[inside],
                weight=s.weight[inside],
                bias=s.bias[order[begin:end], None],
            )
            self._levels.append((slice(made.begin, made.end), sums_of(made)))

    def __call__(self, x: Values) -> npt.NDArray[np.float32]:
        """Evaluates x [B, I], or [P, B, I] for samples of their own, to [P, B, O]."""
        samples = x.shape[-2]
        values = np.empty((self._num_rows, samples), np.float32)
        values[: self._num_inputs] = np.swapaxes(x, -1, -2).reshape(self._num_inputs, samples)
        for rows, sums in self._levels:
            values[rows] = self._formula(sums(values))
        return np.swapaxes(values[self._outputs], 1, 2)


def _levels(schedule: Schedule) -> Indices:
    """[N] the level of every live node, from 0."""
    counts = schedule.num_levels
    ends = schedule.level_end + np.repeat(schedule.node_start[:-1], counts)
    number = np.arange(len(ends)) - np.repeat(schedule.level_start[:-1], counts)
    return np.repeat(number, np.diff(ends, prepend=0))
