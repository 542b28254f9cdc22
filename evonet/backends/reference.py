"""Plain NumPy, one node at a time: the oracle that every other backend must equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends import reference_control
from evonet.backends.base import Rollout
from evonet.backends.reference_functions import activate, aggregate, preactivation
from evonet.backends.reference_loss import total_loss
from evonet.schedule import build_schedule

if TYPE_CHECKING:
    from evonet.backends.base import Episodes, Forward, Loss
    from evonet.population import Population
    from evonet.schedule import OnCycle, Schedule


class ReferenceBackend:
    """Runs schedules readably and slowly, with the same bits as the compiled backends."""

    name = "reference"

    def build_schedule(self, population: Population, on_cycle: OnCycle, threads: int) -> Schedule:
        """Compiles genomes in Python; threads make no difference here."""
        return build_schedule(population, on_cycle=on_cycle, native=False)

    def forward(self, schedule: Schedule, threads: int) -> Forward:
        """Returns a function that walks every schedule node by node."""

        def forward(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
            y = np.zeros((schedule.num_genomes, x.shape[-2], schedule.num_outputs), schedule.dtype)
            for g in range(schedule.num_genomes):
                values = evaluate_genome(schedule, g, x if x.ndim == 2 else x[g])
                for o, slot in enumerate(schedule.output_slot[g]):
                    if slot >= 0:
                        y[g, :, o] = values[slot]
            return y

        return forward

    def loss(self, schedule: Schedule, threads: int) -> Loss:
        """Evaluates, then adds up losses by the tree of `kernels/loss.h`."""
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
    playing = np.arange(episodes.count)
    while len(playing):
        seen = reference_control.observe(task, state)
        values = evaluate_genome(schedule, genome, seen.T)
        output = np.zeros((schedule.num_outputs, len(playing)), schedule.dtype)
        for o, slot in enumerate(schedule.output_slot[genome]):
            if slot >= 0:
                output[o] = values[slot]
        state, reward, ended = reference_control.step(task, state, output)
        returns[playing] += reward
        steps[playing] += 1
        going_on = ~(ended | (steps[playing] >= episodes.max_steps))
        state, playing = state[:, going_on], playing[going_on]


def evaluate_genome(schedule: Schedule, genome: int, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Computes every live node of one genome.

    Args:
        schedule: The population's schedules.
        genome: Which genome.
        x: [B, I] samples.

    Returns:
        [slots, B] the values of all slots: inputs, then live nodes.
    """
    s = schedule
    begin, end = int(s.node_start[genome]), int(s.node_start[genome + 1])
    values = np.zeros((s.num_inputs + end - begin, len(x)), s.dtype)
    values[: s.num_inputs] = x.T
    for k in range(begin, end):
        links = slice(int(s.edge_start[k]), int(s.edge_start[k + 1]))
        total = aggregate(int(s.aggregation[k]), s.weight[links], values[s.source[links]])
        z = preactivation(s.bias[k], s.response[k], total)
        values[s.num_inputs + k - begin] = activate(int(s.activation[k]), z)
    return values
