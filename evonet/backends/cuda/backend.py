"""NVIDIA GPUs through CuPy: kernels/*.cu, compiled when they are first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evonet.backends.cuda.forward import CudaForward
from evonet.backends.cuda.survey import usable_devices
from evonet.schedule import build_schedule

if TYPE_CHECKING:
    from evonet.backends.base import Forward, Mapping
    from evonet.population import Population
    from evonet.schedule import OnCycle, Schedule


class CudaBackend:
    """Runs schedules on all GPUs that work, the population split between them.

    Raises:
        DeviceError: No GPU works here; says why and what to do.
    """

    name = "cuda"

    def __init__(self) -> None:
        self._devices = usable_devices()

    def build_schedule(self, population: Population, on_cycle: OnCycle, threads: int) -> Schedule:
        """Compiles genomes on the processor; see `evonet.schedule.build_schedule`."""
        return build_schedule(population, on_cycle=on_cycle, threads=threads)

    def forward(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> Forward:
        """Divides the schedule among the GPUs; it is uploaded by the first call."""
        return CudaForward(schedule, self._devices, mapping)
