"""Plain NumPy, one node at a time: the oracle that every other backend must equal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evonet.backends.base import Rollout
from evonet.backends.host_state import HostSteps
from evonet.backends.reference import control as reference_control
from evonet.backends.reference.cells import settle
from evonet.backends.reference.functions import activate, aggregate, preactivation
from evonet.backends.reference.loss import total_loss
from evonet.schedule.cells import first_state
from evonet.schedule.schedule import build_schedule

if TYPE_CHECKING:
    from evonet.backends.base import Episodes, Forward, Loss, Mapping, Steps
    from evonet.definitions.dynamics import Dynamics
    from evonet.genes.population import Population
    from evonet.schedule.schedule import OnCycle, Schedule

Array: TypeAlias = npt.NDArray[Any]


class ReferenceBackend:
    """Runs schedules readably and slowly, with the same bits as the compiled backends."""

    name = "reference"

    def build_schedule(
        self, population: Population, dynamics: Dynamics, on_cycle: OnCycle, threads: int
    ) -> Schedule:
        """Compiles genomes in Python; threads make no difference here."""
        return build_schedule(population, dynamics, on_cycle=on_cycle, native=False)

    def forward(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> Forward:
        """Returns a function that walks every schedule node by node."""

        def forward(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
            y = np.empty((schedule.num_genomes, x.shape[-2], schedule.num_outputs), schedule.dtype)
            take_steps(schedule, x, y, first_state(schedule, x.shape[-2]))
            return y

        return forward

    def steps(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> Steps:
        """Keeps the state beside the schedule."""

        def run(x: Array, y: Array, state: Array, next_state: Array) -> None:
            next_state[:] = state
            take_steps(schedule, x, y, next_state)

        return HostSteps(schedule, run)

    def loss(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> Loss:
        """Evaluates, then adds up losses by the tree of `kernels/nodes/loss.h`."""
        forward = self.forward(schedule, threads)

        def loss(x: npt.NDArray[Any], targets: npt.NDArray[Any], which: int) -> npt.NDArray[Any]:
            y = forward(x)
            losses = [total_loss(which, one, targets) for one in y]
            return np.array(losses, schedule.dtype).reshape(-1, 2)

        return loss

    def rollout(
        self,
        schedule: Schedule,
        episodes: Episodes,
        genomes: npt.NDArray[np.int64],
        threads: int,
    ) -> Rollout:
        """Plays all episodes of a genome side by side, one genome after the other."""
        shape = len(genomes), episodes.count
        rollout = Rollout(np.zeros(shape, schedule.dtype), np.zeros(shape, np.int32))
        for i, genome in enumerate(genomes):
            play_genome(schedule, int(genome), episodes, rollout.returns[i], rollout.steps[i])
        return rollout


def play_genome(
    schedule: Schedule,
    genome: int,
    episodes: Episodes,
    returns: npt.NDArray[Any],
    steps: npt.NDArray[np.int32],
) -> None:
    """Plays the episodes of one genome.

    Args:
        schedule: The population's schedules.
        genome: Which genome.
        episodes: Which episodes.
        returns: [E] gains the rewards.
        steps: [E] counts the steps.
    """
    task = episodes.control
    numbers = episodes.first + np.arange(episodes.count)
    state = reference_control.reset(task, episodes.seed, numbers, schedule.dtype)
    nodes = slice(int(schedule.node_start[genome]), int(schedule.node_start[genome + 1]))
    remembered = first_state(schedule, episodes.count)[:, nodes]
    playing = np.arange(episodes.count)
    while len(playing):
        seen = reference_control.observe(task, state)
        output = run_genome(schedule, genome, seen.T, remembered).T
        state, reward, ended = reference_control.step(task, state, output)
        returns[playing] += reward
        steps[playing] += 1
        going_on = ~(ended | (steps[playing] >= episodes.max_steps))
        state, playing = state[:, going_on], playing[going_on]
        remembered = remembered[:, :, going_on]


def take_steps(schedule: Schedule, x: Array, y: Array, state: Array) -> None:
    """Evaluates all genomes.

    Args:
        schedule: P networks.
        x: [B, I] or [P, B, I] samples.
        y: [P, B, O] gets the outputs.
        state: [C, N, B] is taken through all steps.
    """
    for g in range(schedule.num_genomes):
        nodes = slice(int(schedule.node_start[g]), int(schedule.node_start[g + 1]))
        y[g] = run_genome(schedule, g, x if x.ndim == 2 else x[g], state[:, nodes])


def run_genome(schedule: Schedule, genome: int, x: Array, state: Array) -> Array:
    """Takes one genome through all steps of a call.

    Args:
        schedule: The population's schedules.
        genome: Which genome.
        x: [B, I] samples.
        state: [C, nodes, B] what its nodes remember; changes.

    Returns:
        [B, O] its outputs.
    """
    s = schedule
    cell = s.cell[int(s.node_start[genome]) : int(s.node_start[genome + 1])]
    for _ in range(s.dynamics.steps):
        values = evaluate_genome(s, genome, x, state)
        nodes = values[s.num_inputs : s.num_inputs + len(cell)]
        settle(s.dynamics, nodes, state, cell)
    output = np.zeros((len(x), s.num_outputs), s.dtype)
    for o, slot in enumerate(s.output_slot[genome]):
        if slot >= 0:
            output[:, o] = values[slot]
    return output


def evaluate_genome(
    schedule: Schedule, genome: int, x: Array, state: Iterable[Array] = ()
) -> Array:
    """Computes every live node of one genome once.

    Args:
        schedule: The population's schedules.
        genome: Which genome.
        x: [B, I] samples.
        state: [C, nodes, B] what its nodes remember.

    Returns:
        [slots, B] the values of all slots: inputs, live nodes, what they remember.
    """
    s = schedule
    begin, end = int(s.node_start[genome]), int(s.node_start[genome + 1])
    values = np.zeros((s.num_inputs + end - begin, len(x)), s.dtype)
    values[: s.num_inputs] = x.T
    values = np.concatenate([values, *state])
    for k in range(begin, end):
        links = slice(int(s.edge_start[k]), int(s.edge_start[k + 1]))
        total = aggregate(int(s.aggregation[k]), s.weight[links], values[s.source[links]])
        z = preactivation(s.bias[k], s.response[k], total)
        values[s.num_inputs + k - begin] = activate(int(s.activation[k]), z)
    return values
