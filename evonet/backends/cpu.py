"""The compiled extension: genomes spread over threads, samples over SIMD lanes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.base import Rollout
from evonet.backends.custom_functions import define_natively
from evonet.backends.host_state import HostSteps
from evonet.definitions.controls import CONTROL_IDS
from evonet.errors import check_option
from evonet.installation import require_native
from evonet.schedule.schedule import build_schedule

if TYPE_CHECKING:
    from evonet.backends.base import Episodes, Forward, Loss, Mapping, Steps
    from evonet.definitions.dynamics import Dynamics
    from evonet.genes.population import Population
    from evonet.schedule.schedule import OnCycle, Schedule


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
        self._bound: tuple[Schedule, int, Any] | None = None

    def simd_level(self) -> str:
        """The instruction set in use.

        Raises:
            OptionError: EVONET_SIMD names one that this processor does not have.
        """
        levels: list[str] = self._native.simd_levels()
        wanted = os.environ.get("EVONET_SIMD") or levels[-1]
        check_option("EVONET_SIMD", wanted, levels)
        return wanted

    def build_schedule(
        self, population: Population, dynamics: Dynamics, on_cycle: OnCycle, threads: int
    ) -> Schedule:
        """Compiles genomes in parallel; see `evonet.schedule.schedule.build_schedule`."""
        return build_schedule(population, dynamics, on_cycle=on_cycle, threads=threads, native=True)

    def forward(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> Forward:
        """Binds the schedule's arrays once, so that a call costs microseconds."""
        kernel = self._bind(schedule, threads)
        shape, dtype = (schedule.num_genomes, schedule.num_outputs), schedule.dtype

        def forward(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
            y = np.empty((shape[0], x.shape[-2], shape[1]), dtype)
            kernel(x, y)
            return y

        return forward

    def steps(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> Steps:
        """Keeps the state beside the schedule."""
        return HostSteps(schedule, self._bind(schedule, threads).step)

    def loss(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> Loss:
        """Evaluates some genomes at a time, so that all outputs need never be in memory."""
        kernel = self._bind(schedule, threads)
        num_genomes, dtype = schedule.num_genomes, schedule.dtype

        def loss(x: npt.NDArray[Any], targets: npt.NDArray[Any], which: int) -> npt.NDArray[Any]:
            out = np.empty((num_genomes, 2), dtype)
            kernel.loss(x, targets, which, out)
            return out

        return loss

    def _bind(self, schedule: Schedule, threads: int) -> Any:
        """The kernel of a schedule; the same one for a forward pass and for a loss."""
        if self._bound is not None and self._bound[0] is schedule and self._bound[1] == threads:
            return self._bound[2]
        make = self._native.Forward32 if schedule.dtype == np.float32 else self._native.Forward64
        define_natively(self._native)
        kernel = make(schedule, threads, self.simd_level())
        self._bound = (schedule, threads, kernel)
        return kernel

    def rollout(
        self,
        schedule: Schedule,
        episodes: Episodes,
        genomes: npt.NDArray[np.int64],
        threads: int,
    ) -> Rollout:
        """Steps networks and task in one native loop, until the last episode has ended."""
        define_natively(self._native)
        run = self._native.rollout32 if schedule.dtype == np.float32 else self._native.rollout64
        returns, steps = run(
            schedule,
            CONTROL_IDS[episodes.control],
            genomes,
            episodes.first,
            episodes.count,
            episodes.max_steps,
            episodes.seed,
            threads,
            self.simd_level(),
        )
        return Rollout(returns, steps)
