"""The seam between networks and the places where they run: `Backend.bind` gives a `Bound`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from evonet.backends.learning import Gradients
from evonet.definitions.backends import Mapping

if TYPE_CHECKING:
    from evonet.backends.learning import Genes, LearningState, UpdateRule
    from evonet.genes.population import Population
    from evonet.schedule.pending import PendingSchedule
    from evonet.schedule.schedule import Schedule


@dataclass(frozen=True)
class Episodes:
    """Which episodes of a control task to play."""

    control: str  # name of the task, one of `evonet.definitions.controls.CONTROLS`
    count: int  # E, episodes per genome
    max_steps: int  # steps after which an episode is cut
    # 0 to 2^64 - 1; with the episode's number it decides how an episode starts, for every genome
    # alike.
    seed: int
    first: int = 0  # number of the first episode


class Rollout(NamedTuple):
    """The outcome of episodes.

    Attributes:
        returns: [K, E] sums of rewards, of the schedule's type.
        steps: [K, E] steps that they lasted, int32.
    """

    returns: npt.NDArray[Any]
    steps: npt.NDArray[np.int32]


class Bound(ABC):
    """A schedule on a backend, ready to run.

    Samples x are [B, I], shared by all genomes, or [P, B, I]; contiguous and of the schedule's
    type. Outputs are [P, B, O], always a new array on the host. All arguments have been checked.
    """

    @abstractmethod
    def forward(self, x: Any) -> npt.NDArray[Any]:
        """Evaluates samples; networks with memory start from their first state."""

    @abstractmethod
    def step(self, x: Any) -> npt.NDArray[Any]:
        """Evaluates samples; networks with memory continue from where the last step ended."""

    @property
    @abstractmethod
    def num_samples(self) -> int | None:
        """B, which all steps must have until a reset; None before the first one."""

    @abstractmethod
    def reset(self) -> None:
        """Forgets all steps."""

    @abstractmethod
    def read_state(self) -> npt.NDArray[Any] | None:
        """Copies what the nodes remember, [C, N, B], to the host; None before the first step."""

    @abstractmethod
    def write_state(self, state: Any) -> None:
        """Lets the next step continue from a copy of a state [C, N, B], in the form of an x."""

    @abstractmethod
    def loss(self, x: Any, targets: Any, loss: int) -> npt.NDArray[Any]:
        """Evaluates samples as `forward` does and compares the outputs with targets [B, O].

        Args:
            x: Samples.
            targets: [B, O] the right answers.
            loss: A position in `evonet.functions.registry.LOSSES`.

        Returns:
            [P, 2] a sum for each genome and what its roundings left out; both together have twice
            the digits.
        """

    @abstractmethod
    def rollout(self, episodes: Episodes, genomes: npt.NDArray[np.int64]) -> Rollout:
        """Lets the chosen genomes [K] play whole episodes, each from its first state."""

    # Only backends with `has_gradients` have the rest.

    @property
    def has_gradients(self) -> bool:
        """Whether this backend has a reverse pass."""
        return False

    def gradient(
        self,
        x: Any,
        targets: Any,
        loss: int,
        *,
        inputs: bool = False,
        genes: Genes | None = None,
        backward: bool = True,
    ) -> Gradients:
        """Losses of all samples and their derivatives, from the first state and through all steps.

        Args:
            x: [T, B, I] or [P, T, B, I] samples; T is 1 without memory.
            targets: [T, B, O] the right answers, or [1, B, O] those of the last step.
            loss: A position in `evonet.functions.registry.LOSSES`, not that of the misses.
            inputs: Whether the derivatives by x are wanted, too.
            genes: Other genes than the schedule's.
            backward: False for the losses alone; the derivatives are then undefined.
        """
        raise NotImplementedError

    def learn(
        self,
        state: LearningState,
        x: Any,
        targets: Any,
        order: npt.NDArray[np.int64],
        loss: int,
        rule: UpdateRule,
    ) -> npt.NDArray[Any]:
        """Lets every genome that is active learn from one batch after the other.

        A genome whose gradient is not finite stays as it is and becomes inactive.

        Args:
            state: Where the genomes are; it changes. An exception leaves it anywhere.
            x: [T, B, I] samples, as for `gradient`.
            targets: [T, B, O] or [1, B, O].
            order: [S, b] the samples of each of S steps.
            loss: A position in `evonet.functions.registry.LOSSES`.
            rule: How genes change.

        Returns:
            [S, P] mean losses of the batches before each step; NaN for inactive genomes.
        """
        raise NotImplementedError


class DeviceBound(Bound):
    """A `Bound` with a memory of its own, where samples may come from and outputs may stay."""

    @abstractmethod
    def adopt(self, x: object) -> Any:
        """Makes an array in that memory, of any library, an x that all methods take; no copy.

        Raises:
            ShapeError: The array cannot be read there.
        """

    @abstractmethod
    def forward_on_device(self, x: Any) -> Any:
        """Does what `forward` does and leaves the outputs on the device."""

    @abstractmethod
    def step_on_device(self, x: Any) -> Any:
        """Does what `step` does and leaves the outputs on the device."""


class Backend(Protocol):
    """A place where schedules run."""

    @property
    def name(self) -> str:
        """What users write to ask for it."""

    def bind(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> Bound:
        """Prepares a schedule to run.

        Args:
            schedule: P networks.
            threads: Threads of the processor; 0 for all available.
            mapping: How the threads of a GPU share the work; processors have only one layout.
        """


class CompilingBackend(ABC):
    """A `Backend` with a memory of its own, where populations may live and be compiled."""

    @abstractmethod
    def bind_population(
        self, population: Population, pending: PendingSchedule, mapping: Mapping = "auto"
    ) -> Bound | None:
        """Compiles genomes where they are, and prepares them to run there.

        Args:
            population: P genomes whose genes are not on the host.
            pending: Their schedule, which need not be built.
            mapping: As for `Backend.bind`.

        Returns:
            None if the host has to compile them: the genes are elsewhere, genomes or the
            population are too large, or a genome has a cycle that is an error.
        """
