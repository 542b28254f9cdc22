"""The forward pass on GPUs: every GPU works on its share of the genomes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.base import DeviceForward
from evonet.backends.cuda.samples import gather
from evonet.backends.cuda.share import Share
from evonet.backends.cuda.shares import split
from evonet.errors import DeviceError, DeviceMemoryError, ShapeError

if TYPE_CHECKING:
    from evonet.backends.base import Mapping
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.schedule import Schedule


class CudaForward(DeviceForward):
    """A schedule on one or several GPUs; results stand on the first, or on the host."""

    def __init__(self, schedule: Schedule, devices: Sequence[Device], mapping: Mapping) -> None:
        ranges = split(schedule, [device.limits.num_sms for device in devices])
        self._schedule = schedule
        self._devices = {device.index: device for device in devices}
        self._home = devices[0]
        self._shares = [
            Share(device, schedule, begin, end, mapping)
            for device, (begin, end) in zip(devices, ranges, strict=False)
        ]
        self._process = os.getpid()

    def adopt(self, x: object) -> DeviceArray:
        """Sees a device array of any library as CuPy's, without a copy.

        Raises:
            ShapeError: Its owner or CuPy refuses.
        """
        self._check_process()
        try:
            array = self._home.adopt(x)
        except (TypeError, ValueError, BufferError, NotImplementedError) as error:
            raise ShapeError(
                f"x is a {type(x).__name__} on a device, which CuPy cannot read: {error} "
                "Copy it to the host first."
            ) from error
        if array.device.id not in self._devices:
            raise ShapeError(
                f"x is on GPU {array.device.id}, which evonet does not use. "
                f"Copy it to GPU {self._home.index} first."
            )
        return array

    def __call__(self, x: Any) -> npt.NDArray[Any]:
        """Computes [P, B, O] and brings it to the host."""
        y = np.empty(self._shape(x), self._schedule.dtype)
        self._run(x, y)
        return y

    def on_device(self, x: Any) -> DeviceArray:
        """Computes [P, B, O] and leaves it on the first GPU; its work may still be under way."""
        self._check_process()
        shape, dtype = self._shape(x), self._schedule.dtype
        try:
            y = self._home.empty(shape, dtype)
        except DeviceMemoryError:
            y = None
        if y is None:
            self._shares[0].forget()
            try:
                y = self._home.empty(shape, dtype)
            except DeviceMemoryError as error:
                raise DeviceMemoryError(
                    f"{error} Outputs {list(shape)} of {dtype} do not fit there: take them to the "
                    'host with out="host", or pass fewer samples at a time.'
                ) from error
        self._run(x, y)
        return y

    def _shape(self, x: Any) -> tuple[int, int, int]:
        return (self._schedule.num_genomes, x.shape[-2], self._schedule.num_outputs)

    def _run(self, x: Any, y: Any) -> None:
        """Fills y, a host array or one of the first GPU."""
        self._check_process()
        if y.size == 0:
            return
        if not isinstance(x, np.ndarray):
            x = gather(self._devices[x.device.id], x, self._schedule.dtype)
        if len(self._shares) == 1:
            self._shares[0].run(x, y)
            return
        # Other threads have other current streams: what x comes from must be done first.
        if not isinstance(x, np.ndarray):
            self._devices[x.device.id].finish()
        with ThreadPoolExecutor(len(self._shares)) as pool:
            for done in [pool.submit(share.run_to_end, x, y) for share in self._shares]:
                done.result()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise DeviceError(
                "CUDA does not work in a forked process. Compile the network in the process that "
                'uses it, and start processes with multiprocessing\'s "spawn".'
            )
