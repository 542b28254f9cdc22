"""What every backend offers: a schedule compiler, a forward pass and rollouts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from evonet.definitions.dynamics import Dynamics
    from evonet.genes.population import Population
    from evonet.schedule.schedule import OnCycle, Schedule

Mapping: TypeAlias = Literal["auto", "levels", "samples"]
"""How work is laid out over the threads of a GPU."""

MAPPINGS: Final = ("auto", "levels", "samples")

Forward: TypeAlias = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""Maps contiguous samples [B, I] or [P, B, I] of the schedule's type to [P, B, O]."""


Loss = Callable[[npt.NDArray[Any], npt.NDArray[Any], int], npt.NDArray[Any]]
"""Maps such samples, targets [B, O] and the id of a loss to the loss of each genome.

It comes as [P, 2], a sum and what its roundings left out; both together have twice the digits.
"""


class DeviceForward(ABC):
    """A forward pass in a memory of its own: a `Forward` that can also stay there."""

    @abstractmethod
    def adopt(self, x: object) -> Any:
        """Sees an array of that memory, of any library, as the backend's own, without a copy.

        Raises:
            ShapeError: It cannot be seen so.
        """

    @abstractmethod
    def __call__(self, x: Any) -> npt.NDArray[Any]:
        """Maps host samples, or adopted ones of any real type and layout, to [P, B, O]."""

    @abstractmethod
    def on_device(self, x: Any) -> Any:
        """Like a call, and leaves the outputs where they are."""


class Steps(Protocol):
    """A forward pass of networks with memory: every call goes on where the last one ended."""

    @property
    def num_samples(self) -> int | None:
        """B, which all calls must have until a reset; None before the first one."""

    def __call__(self, x: Any) -> npt.NDArray[Any]:
        """Maps samples to outputs [P, B, O], as a `Forward` does."""

    def reset(self) -> None:
        """Forgets everything."""

    def read(self) -> npt.NDArray[Any] | None:
        """What the nodes remember, [C, N, B], on the host; None before the first call."""

    def write(self, state: npt.NDArray[Any]) -> None:
        """Goes on from such a state, of the schedule's type and contiguous."""


@dataclass(frozen=True)
class Episodes:
    """Which episodes of a control task to play.

    Attributes:
        control: Name of the task, one of `evonet.definitions.controls.CONTROLS`.
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

    def build_schedule(
        self, population: Population, dynamics: Dynamics, on_cycle: OnCycle, threads: int
    ) -> Schedule:
        """Compiles a population; see `evonet.schedule.schedule.build_schedule`."""

    def forward(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> Forward:
        """Prepares the feed-forward pass of a schedule.

        Args:
            schedule: What to run.
            threads: Threads of the processor; 0 for all available.
            mapping: Threads of a GPU; processors have only one layout.
        """

    def steps(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> Steps:
        """Prepares the passes of networks with memory; arguments as above."""

    def loss(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> Loss:
        """Prepares a pass, with memory from a first state, with a loss behind it; as above."""

    def rollout(
        self,
        schedule: Schedule,
        episodes: Episodes,
        genomes: npt.NDArray[np.int64],
        threads: int,
    ) -> Rollout:
        """Lets the chosen genomes [K] play whole episodes; all arguments have been checked."""
