"""The baseline without any library but NumPy: all links of a level of all genomes at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.bench.peers.formulas import FORMULAS
from evonet.bench.peers.level_rows import PopulationRows
from evonet.schedule.schedule import Schedule


class NumpyNetworks:
    """P networks whose links are gathered, multiplied and added up, a level at a time."""

    def __init__(self, schedule: Schedule, activation: str, own_inputs: bool = False) -> None:
        """Sorts the links.

        Args:
            schedule: Of nodes that all sum, with response 1.
            activation: That all nodes have, one of `FORMULAS`.
            own_inputs: Whether each genome has samples of its own.
        """
        self._formula = FORMULAS[activation]
        self._rows = PopulationRows.of(schedule, own_inputs)
        self._own_inputs = own_inputs
        # A sum over no links would take the next node's, so nodes without any are left out of it.
        self._linked = [np.flatnonzero(np.diff(level.start)) for level in self._rows.levels]

    def __call__(self, x: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Evaluates x [B, I], or [P, B, I] for samples of their own, to [P, B, O]."""
        rows = self._rows
        samples = x.shape[-2]
        values = np.empty((rows.num_rows, samples), np.float32)
        values[: rows.num_inputs] = np.swapaxes(x, -1, -2).reshape(rows.num_inputs, samples)
        for level, linked in zip(rows.levels, self._linked, strict=True):
            products = values[level.source]
            products *= level.weight[:, None]
            total = np.repeat(level.bias, samples, axis=1)
            if len(linked):
                total[linked] += np.add.reduceat(products, level.start[linked], axis=0)
            values[level.begin : level.end] = self._formula(total)
        return np.swapaxes(values[rows.outputs], 1, 2)
