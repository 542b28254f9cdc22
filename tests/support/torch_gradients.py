"""Networks written again in PyTorch, node by node, whose autograd gradients are compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from evonet.functions.registry import ACTIVATIONS, AGGREGATIONS
from evonet.schedule.schedule import Schedule

LAMBDA, ALPHA = 1.0507009873554805, 1.6732632423543772

_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "sigmoid": lambda z: torch.sigmoid(torch.clamp(5 * z, -60, 60)),
    "tanh": lambda z: torch.tanh(torch.clamp(2.5 * z, -60, 60)),
    "sin": lambda z: torch.sin(torch.clamp(5 * z, -60, 60)),
    "gauss": lambda z: torch.exp(-5 * torch.clamp(z, -3.4, 3.4) ** 2),
    "relu": torch.relu,
    "elu": lambda z: torch.where(z > 0, z, torch.exp(torch.clamp(z, max=0)) - 1),
    "lelu": lambda z: torch.where(z > 0, z, 0.005 * z),
    "selu": lambda z: (
        LAMBDA * torch.where(z > 0, z, ALPHA * (torch.exp(torch.clamp(z, max=0)) - 1))
    ),
    "softplus": lambda z: 0.2 * torch.log(1 + torch.exp(torch.clamp(5 * z, -60, 60))),
    "identity": lambda z: z,
    "clamped": lambda z: torch.clamp(z, -1, 1),
    "inv": lambda z: torch.where(z == 0, 0 * z, 1 / torch.where(z == 0, 1 + z, z)),
    "log": lambda z: torch.log(torch.clamp(z, min=1e-7)),
    "exp": lambda z: torch.exp(torch.clamp(z, -60, 60)),
    "abs": torch.abs,
    "hat": lambda z: torch.relu(1 - torch.abs(z)),
    "square": lambda z: z * z,
    "cube": lambda z: z * z * z,
}


def _pick(x: Any, key: Any) -> Any:
    """The number of the first link with the largest key."""
    chosen = torch.from_numpy(np.argmax(key.detach().numpy(), axis=0))
    return torch.gather(x, 0, chosen[None])[0]


def _median(x: Any) -> Any:
    order = torch.from_numpy(np.argsort(x.detach().numpy(), axis=0, kind="stable"))
    ordered = torch.gather(x, 0, order)
    n = len(x)
    return ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2


_AGGREGATIONS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(dim=0),
    "product": lambda x: x.prod(dim=0),
    "max": lambda x: _pick(x, x),
    "min": lambda x: _pick(x, -x),
    "maxabs": lambda x: _pick(x, torch.abs(x)),
    "median": _median,
    "mean": lambda x: x.mean(dim=0),
}


class TorchGenome:
    """One genome of a schedule in which every node keeps its slot, in float64."""

    def __init__(self, schedule: Schedule, genome: int) -> None:
        """Takes the genes of a genome as leaves of a graph."""
        s = self._s = schedule
        self._genome = genome
        self._first, self._end = int(s.node_start[genome]), int(s.node_start[genome + 1])
        edges = slice(int(s.edge_start[self._first]), int(s.edge_start[self._end]))
        self._first_edge = edges.start
        nodes = slice(self._first, self._end)
        self.genes = {
            "weight": torch.tensor(s.weight[edges], requires_grad=True),
            "bias": torch.tensor(s.bias[nodes], requires_grad=True),
            "response": torch.tensor(s.response[nodes], requires_grad=True),
        }

    def loss(self, x: Any, targets: Any) -> Any:
        """The sum of squared errors of samples [T, B, I] against [T, B, O]."""
        s = self._s
        state = [torch.zeros(x.shape[1], dtype=torch.float64)] * (self._end - self._first)
        total = torch.zeros((), dtype=torch.float64)
        for samples, wanted in zip(x, targets, strict=True):
            for _ in range(s.dynamics.steps):
                values = self._step(torch.from_numpy(samples.T.copy()), state)
                state = self._settle(values, state)
            for o, slot in enumerate(s.output_slot[self._genome]):
                k = np.flatnonzero(s.slot[self._first : self._end] == slot)
                y = state[int(k[0])] if len(k) else torch.zeros(len(samples), dtype=torch.float64)
                total = total + ((y - torch.from_numpy(wanted[:, o].copy())) ** 2).sum()
        return total

    def _step(self, inputs: Any, state: list[Any]) -> list[Any]:
        s = self._s
        values: list[Any] = [None] * int(s.num_slots[self._genome])
        values[: s.num_inputs] = list(inputs)
        first_state = int(s.first_state[self._genome])
        for k, number in enumerate(state if s.dynamics.has_memory else ()):
            values[first_state + k] = number
        given = []
        for k in range(self._end - self._first):
            node = self._first + k
            begin, end = int(s.edge_start[node]), int(s.edge_start[node + 1])
            name = AGGREGATIONS[s.aggregation[node]].name
            if begin == end:
                joined = torch.full_like(inputs[0], 1.0 if name == "product" else 0.0)
            else:
                read = torch.stack([values[i] for i in s.source[begin:end]])
                weights = self.genes["weight"][begin - self._first_edge : end - self._first_edge]
                joined = _AGGREGATIONS[name](weights[:, None] * read)
            z = self.genes["bias"][k] + self.genes["response"][k] * joined
            value = _ACTIVATIONS[ACTIVATIONS[s.activation[node]].name](z)
            values[int(s.slot[node])] = value
            given.append(value)
        return given

    def _settle(self, given: list[Any], state: list[Any]) -> list[Any]:
        if self._s.dynamics.kind != "ctrnn":
            return given
        kept = torch.from_numpy(self._s.cell[self._first : self._end, 0].copy())
        return [
            keep * old + (1 - keep) * new for keep, old, new in zip(kept, state, given, strict=True)
        ]
