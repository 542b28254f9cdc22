"""NVIDIA GPUs through CuPy: kernels/cuda/*.cu, compiled when they are first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.discovery import usable_devices
from evonet.backends.cuda.run import CudaForward
from evonet.backends.cuda.state import CudaSteps
from evonet.schedule.schedule import build_schedule

if TYPE_CHECKING:
    from evonet.backends.base import Episodes, Forward, Loss, Mapping, Rollout, Steps
    from evonet.definitions.dynamics import Dynamics
    from evonet.genes.population import Population
    from evonet.schedule.schedule import OnCycle, Schedule


class CudaBackend:
    """Runs schedules on all GPUs that work, the population split between them.

    Raises:
        DeviceError: No GPU works here; says why and how to fix it.
    """

    name = "cuda"

    def __init__(self) -> None:
        self._devices = usable_devices()
        self._divided: tuple[Schedule, Mapping, CudaForward] | None = None

    def build_schedule(
        self, population: Population, dynamics: Dynamics, on_cycle: OnCycle, threads: int
    ) -> Schedule:
        """Compiles genomes on the processor; see `evonet.schedule.schedule.build_schedule`."""
        return build_schedule(population, dynamics, on_cycle=on_cycle, threads=threads)

    def forward(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> Forward:
        """Splits the schedule over the GPUs; it is uploaded by the first call."""
        return self._divide(schedule, mapping)

    def steps(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> Steps:
        """Splits the schedule over the GPUs, which also keep the states of its nodes."""
        return CudaSteps(schedule, self._devices, mapping)

    def loss(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> Loss:
        """Evaluates and adds up losses on the GPUs; only [P, 2] numbers come back."""
        return self._divide(schedule, mapping).loss

    def rollout(
        self,
        schedule: Schedule,
        episodes: Episodes,
        genomes: npt.NDArray[np.int64],
        threads: int,
    ) -> Rollout:
        """Plays whole episodes on the GPUs, a thread for each; only [K, E] numbers come back."""
        known = self._divided
        mapping = "auto" if known is None or known[0] is not schedule else known[1]
        return self._divide(schedule, mapping).rollout(episodes, genomes)

    def _divide(self, schedule: Schedule, mapping: Mapping) -> CudaForward:
        """One upload for a forward pass, a loss and rollouts."""
        known = self._divided
        if known is None or known[0] is not schedule or known[1] != mapping:
            known = schedule, mapping, CudaForward(schedule, self._devices, mapping)
            self._divided = known
        return known[2]
