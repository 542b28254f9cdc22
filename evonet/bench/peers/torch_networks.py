"""PyTorch as it is used for evolved networks: dense matrices, one genome after the other."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.schedule.schedule import Schedule
from evonet.schedule.slots import Positions, trace_slots


class TorchNetworks:
    """P networks, each a list of dense matrices, one per level.

    All nodes must sum, with response 1, and have one activation: "sigmoid", "tanh" or "relu".
    """

    def __init__(self, schedule: Schedule, activation: str) -> None:
        import torch

        self._torch = torch
        self._formula = {
            "sigmoid": lambda z: torch.sigmoid(5 * z),
            "tanh": lambda z: torch.tanh(2.5 * z),
            "relu": torch.relu,
        }[activation]
        read = trace_slots(schedule)
        self._nets = [self._dense(schedule, read, g) for g in range(schedule.num_genomes)]
        self._outputs = [torch.from_numpy(positions) for positions in read.output]

    def _dense(self, schedule: Schedule, read: Positions, genome: int) -> list[tuple[Any, Any]]:
        """Weights [values so far, width] and bias [width] of every level."""
        first, inputs = int(schedule.node_start[genome]), schedule.num_inputs
        ends = schedule.level_end[schedule.level_start[genome] : schedule.level_start[genome + 1]]
        levels = []
        for begin, end in pairwise([0, *ends.tolist()]):
            weights = np.zeros((inputs + begin, end - begin), np.float32)
            for k in range(begin, end):
                links = slice(schedule.edge_start[first + k], schedule.edge_start[first + k + 1])
                np.add.at(weights[:, k - begin], read.source[links], schedule.weight[links])
            bias = schedule.bias[first + begin : first + end].copy()
            levels.append((self._torch.from_numpy(weights), self._torch.from_numpy(bias)))
        return levels

    def __call__(self, x: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Evaluates x [B, I] to [P, B, O]."""
        torch = self._torch
        given = torch.from_numpy(x)
        answers = []
        with torch.inference_mode():
            for levels, outputs in zip(self._nets, self._outputs, strict=True):
                values = given
                for weights, bias in levels:
                    new = self._formula(torch.addmm(bias, values, weights))
                    values = torch.cat((values, new), dim=1)
                answers.append(values[:, outputs])
            found: npt.NDArray[np.float32] = torch.stack(answers).numpy()
        return found
