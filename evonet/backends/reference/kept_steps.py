"""Forward steps that keep everything which a reverse pass needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from evonet.backends.reference.cells import settle
from evonet.backends.reference.functions import activate, aggregate, preactivation
from evonet.schedule.cells import first_state

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule

Array = npt.NDArray[Any]


class Step(NamedTuple):
    """One step of a genome of n nodes on B samples.

    Attributes:
        values: [slots, B] what links read.
        joined: [n, B] what the aggregations gave.
        given: [n, B] what the activations gave.
        remembered: [n, B] what cells remembered before; [0, B] without memory.
        settled: [n, B] what cells made of it: the nodes' outputs.
    """

    values: Array
    joined: Array
    given: Array
    remembered: Array
    settled: Array


def forward_steps(schedule: Schedule, genome: int, x: Array) -> list[Step]:
    """Takes a genome through samples [T, B, I] from its first state, `dynamics.steps` for each."""
    s = schedule
    nodes = slice(int(s.node_start[genome]), int(s.node_start[genome + 1]))
    state = first_state(s, x.shape[1])[:, nodes]
    steps = []
    for inputs in x:
        for _ in range(s.dynamics.steps):
            step = _compute(s, genome, inputs, state)
            settle(s.dynamics, step.settled, state, s.cell[nodes])
            steps.append(step)
    return steps


def _compute(s: Schedule, genome: int, x: Array, state: Array) -> Step:
    first, end = int(s.node_start[genome]), int(s.node_start[genome + 1])
    values = np.zeros((int(s.num_slots[genome]), len(x)), s.dtype)
    values[: s.num_inputs] = x.T
    values[int(s.first_state[genome]) :].reshape(state.shape)[:] = state
    joined = np.zeros((end - first, len(x)), s.dtype)
    for k in range(first, end):
        links = slice(int(s.edge_start[k]), int(s.edge_start[k + 1]))
        joined[k - first] = aggregate(
            int(s.aggregation[k]), s.weight[links], values[s.source[links]]
        )
        z = preactivation(s.bias[k], s.response[k], joined[k - first])
        values[s.slot[k]] = activate(int(s.activation[k]), z)
    given = values[s.slot[first:end]]
    return Step(values, joined, given, state[:1].reshape(-1, len(x)).copy(), given.copy())
