"""What networks remember between steps, in the host's memory."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evonet.backends.base import Bound
from evonet.schedule.cells import first_state

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule

Array: TypeAlias = npt.NDArray[Any]


class HostBound(Bound):
    """A `Bound` that keeps states beside the schedule.

    Two states take turns, so that a step that is interrupted leaves the last one as it was.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._num_genomes = schedule.num_genomes
        self._num_outputs = schedule.num_outputs
        self._dtype = schedule.dtype
        self._state: Array | None = None
        self._next: Array | None = None

    @abstractmethod
    def _step(self, x: Array, y: Array, state: Array, next_state: Array) -> None:
        """Evaluates samples into outputs [P, B, O], from one state [C, N, B] to the next."""

    def _outputs(self, x: Array) -> Array:
        """Makes room for the outputs of samples."""
        return np.empty((self._num_genomes, x.shape[-2], self._num_outputs), self._dtype)

    @property
    def num_samples(self) -> int | None:
        """B of the state; None before the first step."""
        return None if self._state is None else self._state.shape[-1]

    def step(self, x: Array) -> Array:
        """Continues from where the last step ended, to outputs [P, B, O]."""
        if self._state is None:
            self._state = first_state(self._schedule, x.shape[-2])
        if self._next is None:
            self._next = np.empty_like(self._state)
        y = self._outputs(x)
        self._step(x, y, self._state, self._next)
        self._state, self._next = self._next, self._state
        return y

    def reset(self) -> None:
        """Forgets everything."""
        self._state = self._next = None

    def read_state(self) -> Array | None:
        """Copies the state, [C, N, B]; None before the first step."""
        return None if self._state is None else self._state.copy()

    def write_state(self, state: Array) -> None:
        """Continues from a state [C, N, B] of the schedule's type."""
        self._state, self._next = state.copy(), None
