"""The compiled extension: genomes spread over threads, samples over SIMD lanes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.base import Rollout
from evonet.controls import CONTROL_IDS
from evonet.errors import check_option
from evonet.native import require_native
from evonet.schedule import build_schedule

if TYPE_CHECKING:
    from evonet.backends.base import Episodes, Forward
    from evonet.population import Population
    from evonet.schedule import OnCycle, Schedule


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

    def build_schedule(self, population: Population, on_cycle: OnCycle, threads: int) -> Schedule:
        """Compiles genomes in parallel; see `evonet.schedule.build_schedule`."""
        return build_schedule(population, on_cycle=on_cycle, threads=threads, native=True)

    def forward(self, schedule: Schedule, threads: int) -> Forward:
        """Binds the schedule's arrays once, so that a call costs microseconds."""
        make = self._native.Forward32 if schedule.dtype == np.float32 else self._native.Forward64
        kernel = make(
            schedule.num_inputs,
            schedule.num_outputs,
            schedule.node_start,
            schedule.bias,
            schedule.response,
            schedule.activation,
            schedule.aggregation,
            schedule.edge_start,
            schedule.source,
            schedule.weight,
            schedule.level_start,
            schedule.level_end,
            schedule.output_slot,
            threads,
            self.simd_level(),
        )
        num_genomes, num_outputs, dtype = (
            schedule.num_genomes,
            schedule.num_outputs,
            schedule.dtype,
        )

        def forward(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
            y = np.empty((num_genomes, x.shape[-2], num_outputs), dtype)
            kernel(x, y)
            return y

        return forward

    def rollout(
        self,
        schedule: Schedule,
        episodes: Episodes,
        genomes: npt.NDArray[np.int64],
        threads: int,
    ) -> Rollout:
        """Steps networks and task in one native loop, until the last episode has ended."""
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
