"""What every backend offers: a schedule compiler and a forward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt

if TYPE_CHECKING:
    from evonet.population import Population
    from evonet.schedule import OnCycle, Schedule

Forward = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""Maps contiguous samples [B, I] or [P, B, I] of the schedule's type to [P, B, O]."""


Loss = Callable[[npt.NDArray[Any], npt.NDArray[Any], int], npt.NDArray[Any]]
"""Maps such samples, targets [B, O] and the id of a loss to the loss of each genome.

It comes as [P, 2], a sum and what its roundings left out; both together have twice the digits.
"""


class Backend(Protocol):
    """One way to run schedules."""

    @property
    def name(self) -> str:
        """What users write to ask for it."""

    def build_schedule(self, population: Population, on_cycle: OnCycle, threads: int) -> Schedule:
        """Compiles a population; see `evonet.schedule.build_schedule`."""

    def forward(self, schedule: Schedule, threads: int) -> Forward:
        """Prepares the feed-forward pass of a schedule."""

    def loss(self, schedule: Schedule, threads: int) -> Loss:
        """Prepares the feed-forward pass with a loss behind it."""
