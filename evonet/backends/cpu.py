"""The compiled extension: genomes spread over threads, samples over SIMD lanes."""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from evonet.backends.base import Rollout
from evonet.backends.host_state import HostBound
from evonet.backends.learning import Genes, Gradients
from evonet.definitions.controls import CONTROL_IDS
from evonet.errors import check_option
from evonet.functions.native import define_natively, define_slopes
from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.installation import require_native

if TYPE_CHECKING:
    from evonet.backends.base import Episodes
    from evonet.backends.learning import LearningState, UpdateRule
    from evonet.definitions.backends import Mapping
    from evonet.schedule.schedule import Schedule

Array: TypeAlias = npt.NDArray[Any]


class CpuBackend:
    """Runs schedules at native speed.

    The instruction set is chosen when the network is compiled: the best that
    this processor has, or the one that EVONET_SIMD names. All give equal bits.

    Raises:
        BackendError: The extension was not built.
    """

    name = "cpu"

    def __init__(self) -> None:
        self._native = require_native()

    def simd_level(self) -> str:
        """The instruction set in use.

        Raises:
            OptionError: EVONET_SIMD names one that this processor does not have.
        """
        levels: list[str] = self._native.simd_levels()
        wanted = os.environ.get("EVONET_SIMD") or levels[-1]
        check_option("EVONET_SIMD", wanted, levels)
        return wanted

    def bind(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> CpuBound:
        """Reads the schedule's arrays once, so that a call costs microseconds."""
        return CpuBound(self._native, schedule, threads, self.simd_level())


class TileCounts(NamedTuple):
    """What a pass in tiles took.

    Attributes:
        executed: Links times samples that were computed.
        segments: For each segment of consecutive levels of the first genome, how many they are and
            the seconds that they took, summed over threads.
    """

    executed: int
    segments: list[tuple[int, float]]


class CpuBound(HostBound):
    """A schedule bound to threads and an instruction set."""

    def __init__(self, native: ModuleType, schedule: Schedule, threads: int, simd: str) -> None:
        super().__init__(schedule)
        self._native = native
        self._threads = threads
        self._simd = simd
        make = native.Forward32 if schedule.dtype == np.float32 else native.Forward64
        define_natively(native)
        self._kernel = make(schedule, threads, simd)
        self._differentiable: Any = None

    def forward(self, x: Array) -> Array:
        """Spreads samples and genomes over threads."""
        y = self._outputs(x)
        self._kernel(x, y)
        return y

    def forward_in_tiles(self, x: Array, drop: bool = True) -> tuple[Array, TileCounts]:
        """Takes tiles of samples through all levels, whatever the network is.

        `forward` does so by itself for deep networks where that is faster. The bits are the same.

        Args:
            x: [B, I] or [P, B, I].
            drop: Whether samples whose values are all 0 and stay 0 leave the work.

        Returns:
            [P, B, O], and what it took.
        """
        y = self._outputs(x)
        executed, levels, seconds = self._kernel.tiles(x, y, drop)
        return y, TileCounts(executed, list(zip(levels, seconds, strict=True)))

    def _step(self, x: Array, y: Array, state: Array, next_state: Array) -> None:
        self._kernel.step(x, y, state, next_state)

    def loss(self, x: Array, targets: Array, loss: int) -> Array:
        """Evaluates some genomes at a time, so that all outputs need never be in memory."""
        losses = np.empty((self._num_genomes, 2), self._dtype)
        self._kernel.loss(x, targets, loss, losses)
        return losses

    @property
    def has_gradients(self) -> bool:
        """Always."""
        return True

    def _reverse(self) -> Any:
        """The reverse pass, made when it is first needed: it transposes all links."""
        if self._differentiable is None:
            native, dynamics = self._native, self._schedule.dynamics
            make = native.Gradient32 if self._dtype == np.float32 else native.Gradient64
            define_slopes(native, ACTIVATION_TABLE, np.unique(self._schedule.activation).tolist())
            define_slopes(native, AGGREGATION_TABLE, np.unique(self._schedule.aggregation).tolist())
            waits = dynamics.has_memory and dynamics.propagation == "next-step"
            self._differentiable = make(self._schedule, self._threads, self._simd, waits)
        return self._differentiable

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
        """Spreads genomes over threads; each takes all its samples forwards and back."""
        s = self._schedule
        if genes is None:
            genes = Genes(s.weight, s.bias, s.response)
        found = Gradients(
            np.empty((s.num_genomes, 2), s.dtype),
            Genes(*(np.empty_like(array) for array in genes)),
            np.empty_like(s.cell),
            np.empty((s.num_genomes, *x.shape[-3:]), s.dtype) if inputs else None,
        )
        kept = found.cell.reshape(-1)
        of_x = np.empty(0, s.dtype) if found.x is None else found.x
        self._reverse().gradient(
            x, targets, loss, backward, *genes, found.losses, *found.genes, kept, of_x
        )
        return found

    def learn(
        self,
        state: LearningState,
        x: Array,
        targets: Array,
        order: npt.NDArray[np.int64],
        loss: int,
        rule: UpdateRule,
    ) -> Array:
        """Lets every genome take all its steps in one thread, one native call for all."""
        losses = np.full((len(order), self._num_genomes), np.nan, self._dtype)
        numbers = np.array(rule[1:8], np.float64)
        self._reverse().learn(
            *(x, targets, order, loss, rule.optimizer, numbers, rule.corrections, *rule.learns),
            *(*state.genes, *state.first, *state.second, state.active, state.steps, losses),
        )
        return losses

    def rollout(self, episodes: Episodes, genomes: npt.NDArray[np.int64]) -> Rollout:
        """Steps networks and task in one native loop, until the last episode has ended."""
        native, schedule = self._native, self._schedule
        define_natively(native)
        run = native.rollout32 if schedule.dtype == np.float32 else native.rollout64
        returns, steps = run(
            schedule,
            CONTROL_IDS[episodes.control],
            genomes,
            episodes.first,
            episodes.count,
            episodes.max_steps,
            episodes.seed,
            self._threads,
            self._simd,
        )
        return Rollout(returns, steps)
