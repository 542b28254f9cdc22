"""NVIDIA GPUs through CuPy: kernels/cuda/*.cu, compiled when they are first needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.base import DeviceBound
from evonet.backends.cuda.discovery import usable_devices
from evonet.backends.cuda.run import CudaForward
from evonet.backends.cuda.state import CudaSteps

if TYPE_CHECKING:
    from evonet.backends.base import Episodes, Rollout
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.definitions.backends import Mapping
    from evonet.schedule.schedule import Schedule


class CudaBackend:
    """Runs schedules on all GPUs that work, the population split between them.

    Raises:
        DeviceError: No GPU works here; says why and how to fix it.
    """

    name = "cuda"

    def __init__(self) -> None:
        self._devices = usable_devices()

    def bind(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> CudaBound:
        """Divides the schedule among the GPUs; it is uploaded by the first call."""
        return CudaBound(schedule, self._devices, mapping)


class CudaBound(DeviceBound):
    """A schedule on GPUs: one upload for forward passes, losses and rollouts, one for steps."""

    def __init__(self, schedule: Schedule, devices: Sequence[Device], mapping: Mapping) -> None:
        self._forward = CudaForward(schedule, devices, mapping)
        self._steps = CudaSteps(schedule, devices, mapping)

    def adopt(self, x: object) -> DeviceArray:
        """Makes a device array of any library CuPy's, without a copy."""
        return self._forward.adopt(x)

    def forward(self, x: Any) -> npt.NDArray[Any]:
        """Evaluates from a first state and brings the outputs to the host."""
        return self._forward(x)

    def forward_on_device(self, x: Any) -> DeviceArray:
        """Evaluates from a first state and leaves the outputs on the first GPU."""
        return self._forward.on_device(x)

    def step(self, x: Any) -> npt.NDArray[Any]:
        """Continues from where the last step ended; the GPUs keep what nodes remember."""
        return self._steps(x)

    def step_on_device(self, x: Any) -> DeviceArray:
        """Does what `step` does and leaves the outputs on the first GPU."""
        return self._steps.on_device(x)

    @property
    def num_samples(self) -> int | None:
        """B of the state; None before the first step."""
        return self._steps.num_samples

    def reset(self) -> None:
        """Forgets everything, and frees its memory."""
        self._steps.reset()

    def read_state(self) -> npt.NDArray[Any] | None:
        """Copies what the nodes remember, [C, N, B], to the host; None before the first step."""
        return self._steps.read()

    def write_state(self, state: npt.NDArray[Any]) -> None:
        """Continues from a state [C, N, B] of the schedule's type."""
        self._steps.write(state)

    def loss(self, x: Any, targets: Any, loss: int) -> npt.NDArray[Any]:
        """Evaluates and adds up losses on the GPUs; only [P, 2] numbers come back."""
        return self._forward.loss(x, targets, loss)

    def rollout(self, episodes: Episodes, genomes: npt.NDArray[np.int64]) -> Rollout:
        """Plays whole episodes on the GPUs, a thread for each; only [K, E] numbers come back."""
        return self._forward.rollout(episodes, genomes)
