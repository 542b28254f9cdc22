"""Networks with memory on GPUs: every call goes on from where the last one ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.forward import CudaForward
from evonet.backends.cuda.remembered import Remembered
from evonet.schedule.cells import first_state

if TYPE_CHECKING:
    from evonet.backends.cuda.device import DeviceArray
    from evonet.backends.cuda.share import Share


class CudaSteps(CudaForward):
    """A `CudaForward` whose GPUs keep what the nodes of their genomes remember."""

    _memories: dict[int, Remembered] | None = None  # by the share's first genome

    @property
    def num_samples(self) -> int | None:
        """B of the state; None before the first call."""
        if self._memories is None:
            return None
        return int(next(iter(self._memories.values())).shape[-1])

    def __call__(self, x: Any) -> npt.NDArray[Any]:
        """Computes [P, B, O] and brings it to the host."""
        self._begin(x.shape[-2])
        y = super().__call__(x)
        self._go_on()
        return y

    def on_device(self, x: Any) -> DeviceArray:
        """Computes [P, B, O] and leaves it on the first GPU."""
        self._begin(x.shape[-2])
        y = super().on_device(x)
        self._go_on()
        return y

    def reset(self) -> None:
        """Forgets everything, and frees its memory."""
        self._memories = None
        for share in self._shares:
            share.device.release_memory()

    def read(self) -> npt.NDArray[Any] | None:
        """What the nodes remember, [C, N, B], on the host; None before the first call."""
        if self._memories is None:
            return None
        return np.concatenate([memory.read() for memory in self._memories.values()], axis=1)

    def write(self, state: npt.NDArray[Any]) -> None:
        """Goes on from a state [C, N, B] of the schedule's type."""
        start = self._schedule.node_start
        self.reset()
        self._memories = {
            share.begin: Remembered(share.device, state[:, start[share.begin] : start[share.end]])
            for share in self._shares
        }

    def _begin(self, num_samples: int) -> None:
        if self._memories is None:
            self.write(first_state(self._schedule, num_samples))

    def _go_on(self) -> None:
        for memory in (self._memories or {}).values():
            memory.go_on()

    def _remembered(self, share: Share) -> Remembered | None:
        return None if self._memories is None else self._memories[share.begin]
