"""Plays one episode of a control task step by step, and records everything that happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from evonet.backends.reference import control as reference_control
from evonet.definitions.controls import CONTROL_IDS, find_control
from evonet.definitions.dynamics import FEEDFORWARD, Dynamics
from evonet.genes.population import Population
from evonet.installation import load_native
from evonet.network import compile as compile_network
from evonet.network import compile_with
from evonet.report.history import Floats
from evonet.report.layout import drawn_schedule
from evonet.schedule.schedule import Schedule
from evonet.schedule.slots import trace_slots

# Enough to watch for a minute; some tasks last half an hour.
MOST_STEPS: Final = 1000


@dataclass(frozen=True)
class Episode:
    """A recorded episode."""

    control: str  # the name of the task
    states: Floats  # [T + 1, S] the task's state before each step, and at the end
    # [T, I + N] values of inputs and nodes at each step, in the order of `lay_out`'s spots.
    values: Floats
    outputs: Floats  # [T, O] the network's outputs
    total: float  # the sum of rewards
    ended: bool  # whether the task ended it; otherwise the step limit did

    def __len__(self) -> int:
        return len(self.outputs)

    @property
    def action(self) -> Floats:
        """[T] the network's actions, scaled to -1 to 1."""
        count = self.outputs.shape[1]
        if count == 1:
            held: Floats = np.clip(np.nan_to_num(self.outputs[:, 0], nan=1.0), -1.0, 1.0)
            return held
        known = np.where(np.isnan(self.outputs), -np.inf, self.outputs)
        chosen: Floats = np.argmax(known, axis=1) * 2.0 / (count - 1) - 1.0
        return chosen


def record_episode(
    population: Population,
    control: str,
    seed: int,
    max_steps: int | None = None,
    dynamics: Dynamics = FEEDFORWARD,
) -> Episode:
    """Lets one genome play episode 0 of a seed, with the bits of the fused rollout.

    It ends after `max_steps` (None for the task's limit) or MOST_STEPS at the latest.
    """
    limit = find_control(control).max_steps if max_steps is None else max_steps
    schedule = drawn_schedule(population, dynamics)
    look = _watch_cells if dynamics.has_memory else _watch_nodes
    nodes = look(population, schedule, dynamics)
    spot = trace_slots(schedule).output[0]
    world = _world(control, schedule.dtype)
    state = world.reset(seed)
    states, values, outputs = [state[:, 0]], list[Any](), list[Any]()
    total = schedule.dtype.type(0)
    ended = False
    while not ended and len(outputs) < min(limit, MOST_STEPS):
        seen = world.observe(state)
        computed = np.concatenate([seen[:, 0], nodes(seen.T)])
        output = computed[spot]
        state, reward, over = world.step(state, np.ascontiguousarray(output[:, None]))
        states.append(state[:, 0])
        values.append(computed)
        outputs.append(output)
        total += reward[0]
        ended = bool(over[0])
    return Episode(
        control,
        np.array(states, np.float64),
        np.array(values, np.float64),
        np.array(outputs, np.float64),
        float(total),
        ended,
    )


class _Native:
    """A control task stepped by the extension, a thousand times faster than NumPy."""

    def __init__(self, native: Any, control: str, dtype: np.dtype[Any]) -> None:
        kind = native.Control32 if dtype == np.float32 else native.Control64
        self._control = kind(CONTROL_IDS[control], native.simd_levels()[0])
        self.observe, self.step = self._control.observe, self._control.step

    def reset(self, seed: int) -> Any:
        return self._control.reset(seed, 0, 1)


class _Reference:
    """The same in NumPy, with the same bits, where there is no extension."""

    def __init__(self, control: str, dtype: np.dtype[Any]) -> None:
        self._name, self._dtype = control, dtype
        self.observe = partial(reference_control.observe, control)
        self.step = partial(reference_control.step, control)

    def reset(self, seed: int) -> Any:
        return reference_control.reset(self._name, seed, np.array([0]), self._dtype)


def _world(control: str, dtype: np.dtype[Any]) -> _Native | _Reference:
    native = load_native()
    return _Reference(control, dtype) if native is None else _Native(native, control, dtype)


Watch = Callable[[Any], Any]  # [1, I] to the values of all nodes, [N]


def _watch_nodes(population: Population, schedule: Schedule, dynamics: Dynamics) -> Watch:
    network = compile_network(_with_all_nodes_as_outputs(population, schedule))
    return lambda x: network(x)[0, 0]


def _watch_cells(population: Population, schedule: Schedule, dynamics: Dynamics) -> Watch:
    """In a network with memory, the state of a cell is the value of its node."""
    network = compile_with(population, dynamics)
    row = {int(key): k for k, key in enumerate(network.schedule.node_key)}
    order = [row[int(key)] for key in schedule.node_key]

    def values(x: Any) -> Any:
        network(x)
        state: Any = network.state
        return state[0, order, 0]

    return values


def _with_all_nodes_as_outputs(population: Population, schedule: Schedule) -> Population:
    """Makes the k-th live node of a genome output k, so that all values are visible.

    Every node reads the same links in the same order, so its bits stay the same.
    """
    genome = population[0]
    number = {int(key): k for k, key in enumerate(schedule.node_key)}
    nodes = {node.key: node for node in genome.nodes}
    return Population.from_genes(
        population.num_inputs,
        len(number),
        [
            (
                [nodes[key]._replace(key=k) for key, k in number.items()],
                [
                    (number.get(link.source, link.source), number[link.target], link.weight)
                    for link in genome.connections
                    if link.enabled
                    and link.target in number
                    and (link.source < 0 or link.source in number)
                ],
            )
        ],
        population.dtype,
    )
