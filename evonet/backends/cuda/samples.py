"""Samples and targets on their way to a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.backends.cuda.resident import Resident


class Samples:
    """[B, I] samples of all genomes, or [P, B, I] of each; on the host or on any GPU.

    Those of all genomes are brought once, when they are first needed. A host array that cannot
    change stays on the GPU for later calls.
    """

    def __init__(self, device: Device, x: Any) -> None:
        self._device = device
        self._x = x
        self._resident: Resident | None = None
        self._shared: DeviceArray | None = None
        if x.ndim == 2 and device.holds(x):
            self._shared = x

    def of(self, begin: int, end: int) -> DeviceArray:
        """Those of the genomes [begin, end), on this GPU."""
        if self._shared is not None:
            return self._shared
        if self._x.ndim == 3:
            return self._device.bring(self._x[begin:end])
        if isinstance(self._x, np.ndarray):
            self._resident = self._device.lasting(self._x)
        if self._resident is not None:
            self._shared = self._resident.arrays[""]
        else:
            self._shared = self._device.bring(self._x)
        return self._shared

    def were_read(self) -> None:
        """Notes that the current stream reads them."""
        if self._resident is not None:
            self._resident.was_read()
