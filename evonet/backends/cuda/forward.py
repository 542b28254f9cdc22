"""The forward pass and rollouts on GPUs: every GPU works on its share of the genomes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.base import DeviceForward, Rollout
from evonet.backends.cuda.results import Losses, Outputs
from evonet.backends.cuda.samples import gather
from evonet.backends.cuda.share import Share
from evonet.backends.cuda.shares import split
from evonet.backends.cuda.survey import check_process
from evonet.errors import DeviceMemoryError, ShapeError

if TYPE_CHECKING:
    from evonet.backends.base import Episodes, Mapping
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.backends.cuda.remembered import Remembered
    from evonet.backends.cuda.results import Result
    from evonet.schedule.schedule import Schedule


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
        check_process(self._process)
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
        if y.size:
            self._run(x, lambda device: Outputs(device, y))
        return y

    def loss(self, x: Any, targets: Any, loss: int) -> npt.NDArray[Any]:
        """Computes the loss of every genome, [P, 2], and brings only that to the host."""
        losses = np.zeros((self._schedule.num_genomes, 2), self._schedule.dtype)
        if 0 not in self._shape(x):
            answers = self._contiguous(targets)
            self._run(x, lambda device: Losses(device, answers, loss, losses))
        return losses

    def rollout(self, episodes: Episodes, genomes: npt.NDArray[np.int64]) -> Rollout:
        """Lets the chosen genomes [K] play whole episodes; results come to the host."""
        check_process(self._process)
        shape = len(genomes), episodes.count
        rollout = Rollout(np.empty(shape, self._schedule.dtype), np.empty(shape, np.int32))
        self._spread(lambda share: share.play(episodes, genomes, rollout))
        return rollout

    def on_device(self, x: Any) -> DeviceArray:
        """Computes [P, B, O] and leaves it on the first GPU; its work may still be under way."""
        check_process(self._process)
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
        if y.size:
            self._run(x, lambda device: Outputs(device, y))
        return y

    def _shape(self, x: Any) -> tuple[int, int, int]:
        return (self._schedule.num_genomes, x.shape[-2], self._schedule.num_outputs)

    def _contiguous(self, array: Any) -> Any:
        """Host arrays come in the right form; those of a GPU are brought into it there."""
        if isinstance(array, np.ndarray):
            return array
        return gather(self._devices[array.device.id], array, self._schedule.dtype)

    def _run(self, x: Any, result_on: Callable[[Device], Result]) -> None:
        """Lets every share evaluate its genomes."""
        check_process(self._process)
        samples = self._contiguous(x)
        self._spread(
            lambda share: share.run(samples, result_on(share.device), self._remembered(share))
        )

    def _remembered(self, share: Share) -> Remembered | None:
        """What a share's networks go on from; None for a first state."""
        return None

    def _spread(self, work: Callable[[Share], None]) -> None:
        """Lets every share do its part; one GPU in this thread, several in their own."""
        if len(self._shares) == 1:
            work(self._shares[0])
            return
        # Other threads have other current streams: what the arguments come from must be done.
        for device in self._devices.values():
            device.finish()

        def work_to_end(share: Share) -> None:
            work(share)
            share.device.finish()

        with ThreadPoolExecutor(len(self._shares)) as pool:
            for run in [pool.submit(work_to_end, share) for share in self._shares]:
                run.result()
