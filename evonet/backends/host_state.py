"""What networks remember between calls, in the host's memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evonet.schedule.cells import first_state

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule

Array: TypeAlias = npt.NDArray[Any]


class HostSteps:
    """Takes networks with memory through time; see `evonet.backends.base.Steps`.

    Two states take turns, so that a call that is interrupted leaves the last one as it was.
    """

    def __init__(
        self, schedule: Schedule, run: Callable[[Array, Array, Array, Array], None]
    ) -> None:
        """Prepares networks that remember nothing yet.

        Args:
            schedule: P networks.
            run: Evaluates samples into outputs [P, B, O], from one state [C, N, B] to the next.
        """
        self._schedule = schedule
        self._run = run
        self._state: Array | None = None
        self._next: Array | None = None

    @property
    def num_samples(self) -> int | None:
        """B of the state; None before the first call."""
        return None if self._state is None else self._state.shape[-1]

    def __call__(self, x: Array) -> Array:
        """Goes on from where the last call ended, to outputs [P, B, O]."""
        s = self._schedule
        if self._state is None:
            self._state = first_state(s, x.shape[-2])
        if self._next is None:
            self._next = np.empty_like(self._state)
        y = np.empty((s.num_genomes, x.shape[-2], s.num_outputs), s.dtype)
        self._run(x, y, self._state, self._next)
        self._state, self._next = self._next, self._state
        return y

    def reset(self) -> None:
        """Forgets everything."""
        self._state = self._next = None

    def read(self) -> Array | None:
        """A copy of the state, [C, N, B]; None before the first call."""
        return None if self._state is None else self._state.copy()

    def write(self, state: Array) -> None:
        """Goes on from a state [C, N, B] of the schedule's type."""
        self._state, self._next = state.copy(), None
