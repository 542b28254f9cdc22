"""Plays one episode of a control task step by step, and writes down all that happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from evonet.backends import reference_control
from evonet.backends.reference import evaluate_genome
from evonet.controls import find_control
from evonet.population import Population
from evonet.report.history import Floats
from evonet.schedule import build_schedule

# A minute to watch; some tasks go on for half an hour.
MOST_STEPS: Final = 1000


@dataclass(frozen=True)
class Episode:
    """What happened.

    Attributes:
        control: Name of the task.
        states: [T + 1, S] before each step, and at the end.
        values: [T, slots] of all nodes of the network at each step.
        outputs: [T, O].
        total: The sum of rewards.
        ended: Whether the task itself ended it; otherwise it was cut.
    """

    control: str
    states: Floats
    values: Floats
    outputs: Floats
    total: float
    ended: bool

    def __len__(self) -> int:
        return len(self.outputs)

    @property
    def action(self) -> Floats:
        """[T] what the network did, from -1 to 1."""
        count = self.outputs.shape[1]
        if count == 1:
            held: Floats = np.clip(np.nan_to_num(self.outputs[:, 0], nan=1.0), -1.0, 1.0)
            return held
        known = np.where(np.isnan(self.outputs), -np.inf, self.outputs)
        chosen: Floats = np.argmax(known, axis=1) * 2.0 / (count - 1) - 1.0
        return chosen


def record_episode(
    population: Population, control: str, seed: int, max_steps: int | None = None
) -> Episode:
    """Lets one genome play episode 0 of a seed, with the bits of the fused rollout.

    Args:
        population: One genome.
        control: The task, one of `evonet.controls.CONTROLS`.
        seed: Of the generation, as `task_seed` gives it.
        max_steps: Where the episode is cut; None for the task's own limit, but never beyond
            MOST_STEPS.

    Raises:
        OptionError: There is no such task.
    """
    limit = find_control(control).max_steps if max_steps is None else max_steps
    schedule = build_schedule(population)
    state = reference_control.reset(control, seed, np.array([0]), schedule.dtype)
    states, values, outputs = [state[:, 0]], list[Any](), list[Any]()
    total = schedule.dtype.type(0)
    ended = False
    while not ended and len(outputs) < min(limit, MOST_STEPS):
        seen = reference_control.observe(control, state)
        computed = evaluate_genome(schedule, 0, seen.T)
        output = computed[schedule.output_slot[0]]
        state, reward, over = reference_control.step(control, state, output)
        states.append(state[:, 0])
        values.append(computed[:, 0])
        outputs.append(output[:, 0])
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
