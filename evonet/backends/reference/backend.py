"""Plain NumPy, one node at a time: the oracle that every other backend must equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evonet.backends.base import Rollout
from evonet.backends.host_state import HostBound
from evonet.backends.reference import control as reference_control
from evonet.backends.reference.cells import settle
from evonet.backends.reference.functions import activate, aggregate, preactivation
from evonet.backends.reference.gradients import gradients
from evonet.backends.reference.loss import total_loss
from evonet.backends.reference.optimizers import learn, with_genes
from evonet.schedule.cells import first_state

if TYPE_CHECKING:
    from evonet.backends.base import Episodes
    from evonet.backends.learning import Genes, Gradients, LearningState, UpdateRule
    from evonet.definitions.backends import Mapping
    from evonet.schedule.schedule import Schedule

Array: TypeAlias = npt.NDArray[Any]


class ReferenceBackend:
    """Runs schedules readably and slowly, with the same bits as the compiled backends."""

    name = "reference"

    def bind(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> ReferenceBound:
        """Prepares nothing; threads and mapping make no difference here."""
        return ReferenceBound(schedule)


class ReferenceBound(HostBound):
    """Walks every schedule node by node."""

    def forward(self, x: Array) -> Array:
        """Evaluates one genome after the other."""
        y = self._outputs(x)
        take_steps(self._schedule, x, y, first_state(self._schedule, x.shape[-2]))
        return y

    def _step(self, x: Array, y: Array, state: Array, next_state: Array) -> None:
        next_state[:] = state
        take_steps(self._schedule, x, y, next_state)

    def loss(self, x: Array, targets: Array, loss: int) -> Array:
        """Evaluates, then adds up losses by the tree of `kernels/nodes/loss.h`."""
        losses = [total_loss(loss, y, targets) for y in self.forward(x)]
        return np.array(losses, self._schedule.dtype).reshape(-1, 2)

    @property
    def has_gradients(self) -> bool:
        """Always."""
        return True

    def gradient(
        self,
        x: Array,
        targets: Array,
        loss: int,
        *,
        inputs: bool = False,
        genes: Genes | None = None,
        backward: bool = True,
    ) -> Gradients:
        """Walks every schedule forwards and back, node by node."""
        return gradients(with_genes(self._schedule, genes), x, targets, loss, inputs, backward)

    def learn(
        self,
        state: LearningState,
        x: Array,
        targets: Array,
        order: npt.NDArray[np.int64],
        loss: int,
        rule: UpdateRule,
    ) -> Array:
        """Takes one step after the other with all genomes."""
        return learn(self._schedule, state, x, targets, order, loss, rule)

    def rollout(self, episodes: Episodes, genomes: npt.NDArray[np.int64]) -> Rollout:
        """Plays all episodes of a genome side by side, one genome after the other."""
        shape, schedule = (len(genomes), episodes.count), self._schedule
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
    """Plays the episodes of one genome, and adds to its returns [E] and steps [E]."""
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
        unfinished = ~(ended | (steps[playing] >= episodes.max_steps))
        state, playing = state[:, unfinished], playing[unfinished]
        remembered = remembered[:, :, unfinished]


def take_steps(schedule: Schedule, x: Array, y: Array, state: Array) -> None:
    """Evaluates x for all genomes to outputs y [P, B, O]; the state [C, N, B] changes."""
    for g in range(schedule.num_genomes):
        nodes = slice(int(schedule.node_start[g]), int(schedule.node_start[g + 1]))
        y[g] = run_genome(schedule, g, x if x.ndim == 2 else x[g], state[:, nodes])


def run_genome(schedule: Schedule, genome: int, x: Array, state: Array) -> Array:
    """Takes one genome through all steps of a call, from samples [B, I] to outputs [B, O].

    The state of its nodes, [C, nodes, B], changes.
    """
    s = schedule
    nodes = slice(int(s.node_start[genome]), int(s.node_start[genome + 1]))
    for _ in range(s.dynamics.steps):
        values = evaluate_genome(s, genome, x, state)
        settled = values[s.slot[nodes]]
        settle(s.dynamics, settled, state, s.cell[nodes])
        values[s.slot[nodes]] = settled
    output = np.zeros((len(x), s.num_outputs), s.dtype)
    for o, slot in enumerate(s.output_slot[genome]):
        if slot >= 0:
            output[:, o] = values[slot]
    return output


def evaluate_genome(schedule: Schedule, genome: int, x: Array, state: Array | None = None) -> Array:
    """Computes the live nodes of a genome once; returns the values [slots, B]."""
    s = schedule
    values = np.zeros((int(s.num_slots[genome]), len(x)), s.dtype)
    values[: s.num_inputs] = x.T
    if state is not None:
        first = int(s.first_state[genome])
        values[first:].reshape(state.shape)[:] = state
    for k in range(int(s.node_start[genome]), int(s.node_start[genome + 1])):
        links = slice(int(s.edge_start[k]), int(s.edge_start[k + 1]))
        total = aggregate(int(s.aggregation[k]), s.weight[links], values[s.source[links]])
        z = preactivation(s.bias[k], s.response[k], total)
        values[s.slot[k]] = activate(int(s.activation[k]), z)
    return values
