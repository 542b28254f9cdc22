"""Networks on NumPy and on SciPy: all genomes at once, level by level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.bench.peers.level_rows import LevelRows, PopulationRows
from evonet.schedule.schedule import Schedule

Values = npt.NDArray[Any]


FORMULAS: Final[dict[str, Callable[[Values], Values]]] = {
    "sigmoid": lambda z: 1 / (1 + np.exp(np.clip(-5 * z, -60, 60))),
    "tanh": lambda z: np.tanh(2.5 * z),
    "relu": lambda z: np.maximum(z, 0),
}


class LevelNetworks:
    """P networks whose levels are computed one after the other, of all genomes at once."""

    def __init__(self, schedule: Schedule, activation: str, own_inputs: bool = False) -> None:
        """Sorts the links by level.

        Args:
            schedule: A schedule whose nodes all sum, with response 1.
            activation: The activation of all nodes, one of `FORMULAS`.
            own_inputs: Whether each genome has samples of its own.
        """
        self._formula = FORMULAS[activation]
        self._rows = PopulationRows.of(schedule, own_inputs)

    def __call__(self, x: Values) -> npt.NDArray[np.float32]:
        """Evaluates x [B, I], or [P, B, I] for samples of their own, to [P, B, O]."""
        rows = self._rows
        samples = x.shape[-2]
        values = np.empty((rows.num_rows, samples), np.float32)
        values[: rows.num_inputs] = np.swapaxes(x, -1, -2).reshape(rows.num_inputs, samples)
        for number, level in enumerate(rows.levels):
            values[level.begin : level.end] = self._formula(self.sums(number, level, values))
        return np.swapaxes(values[rows.outputs], 1, 2)

    def sums(self, number: int, level: LevelRows, values: Values) -> Values:
        """The pre-activations of a level [rows, B] from the values of all rows before it."""
        raise NotImplementedError


class NumpyNetworks(LevelNetworks):
    """The baseline without any library but NumPy: links are gathered, multiplied and added up."""

    def __init__(self, schedule: Schedule, activation: str, own_inputs: bool = False) -> None:
        """Finds the nodes that read something, since a sum over no links takes the next node's."""
        super().__init__(schedule, activation, own_inputs)
        self._linked = [np.flatnonzero(np.diff(level.start)) for level in self._rows.levels]

    def sums(self, number: int, level: LevelRows, values: Values) -> Values:
        """Adds up the products of each node."""
        linked = self._linked[number]
        products = values[level.source]
        products *= level.weight[:, None]
        total = np.repeat(level.bias, values.shape[1], axis=1)
        if len(linked):
            total[linked] += np.add.reduceat(products, level.start[linked], axis=0)
        return total


class ScipyNetworks(LevelNetworks):
    """SciPy's sparse matrices: one for each level of the whole population, without padding."""

    def __init__(self, schedule: Schedule, activation: str) -> None:
        """Fills the matrices, in compressed rows."""
        from scipy.sparse import csr_matrix

        super().__init__(schedule, activation)
        self._weights: list[Any] = [
            csr_matrix(
                (level.weight, level.source, level.start),
                shape=(level.end - level.begin, level.begin),
            )
            for level in self._rows.levels
        ]

    def sums(self, number: int, level: LevelRows, values: Values) -> Values:
        """Multiplies by the level's matrix."""
        total: Values = self._weights[number] @ values[: level.begin]
        total += level.bias
        return total
