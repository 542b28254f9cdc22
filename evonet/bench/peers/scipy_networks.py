"""SciPy's sparse matrices: one for each level of the whole population, without padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.bench.peers.formulas import FORMULAS
from evonet.bench.peers.level_rows import PopulationRows
from evonet.schedule.schedule import Schedule


class ScipyNetworks:
    """P networks as one matrix per level, in compressed rows."""

    def __init__(self, schedule: Schedule, activation: str) -> None:
        """Fills the matrices.

        Args:
            schedule: Of nodes that all sum, with response 1.
            activation: That all nodes have, one of `FORMULAS`.
        """
        from scipy.sparse import csr_matrix

        self._formula = FORMULAS[activation]
        self._rows = PopulationRows.of(schedule)
        self._weights: list[Any] = [
            csr_matrix(
                (level.weight, level.source, level.start),
                shape=(level.end - level.begin, level.begin),
            )
            for level in self._rows.levels
        ]

    def __call__(self, x: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Evaluates x [B, I] to [P, B, O]."""
        values = np.empty((self._rows.num_rows, x.shape[0]), np.float32)
        values[: x.shape[1]] = x.T
        for level, weights in zip(self._rows.levels, self._weights, strict=True):
            total = weights @ values[: level.begin]
            total += level.bias
            values[level.begin : level.end] = self._formula(total)
        return np.swapaxes(values[self._rows.outputs], 1, 2)
