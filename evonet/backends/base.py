"""What every backend offers: a schedule compiler, a forward pass and rollouts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
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


@dataclass(frozen=True)
class Episodes:
    """Which episodes of a control task to play.

    Attributes:
        control: Name of the task, one of `evonet.controls.CONTROLS`.
        count: E, how many each genome plays.
        max_steps: Where an episode is cut.
        seed: 0 to 2^64 - 1; an episode begins as its number and the seed say, for every genome.
        first: Number of the first episode.
    """

    control: str
    count: int
    max_steps: int
    seed: int
    first: int = 0


class Rollout(NamedTuple):
    """What came out of episodes.

    Attributes:
        returns: [K, E] sums of rewards, of the schedule's type.
        steps: [K, E] how long they lasted, int32.
    """

    returns: npt.NDArray[Any]
    steps: npt.NDArray[np.int32]


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

    def rollout(
        self,
        schedule: Schedule,
        episodes: Episodes,
        genomes: npt.NDArray[np.int64],
        threads: int,
    ) -> Rollout:
        """Lets the chosen genomes [K] play whole episodes; all arguments have been checked."""
