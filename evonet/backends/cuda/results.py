"""Where the outputs of some genomes go: to the caller, or into a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.arguments import loss_arguments
from evonet.backends.cuda.plan import plan_loss
from evonet.backends.cuda.samples import Visitor

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.backends.cuda.workload import Workload


class Result(Protocol):
    """What becomes of outputs on one GPU."""

    def place(self, work: Workload, begin: int, end: int) -> DeviceArray:
        """Memory for the outputs [end - begin, B, O] of some genomes, on the GPU."""

    def deliver(self, work: Workload, begin: int, end: int, outputs: DeviceArray) -> None:
        """Takes the outputs that were written there."""


class Outputs:
    """The outputs themselves, [P, B, O], on the host or on any GPU."""

    def __init__(self, device: Device, y: Any) -> None:
        self._device = device
        self._y = y
        self._is_here = not isinstance(y, np.ndarray) and y.device.id == device.index

    def place(self, work: Workload, begin: int, end: int) -> DeviceArray:
        """The result itself where it is on this GPU, so that nothing is copied."""
        if self._is_here:
            return self._y[begin:end]
        return self._device.empty((end - begin, *self._y.shape[1:]), work.dtype)

    def deliver(self, work: Workload, begin: int, end: int, outputs: DeviceArray) -> None:
        """Copies to the host or to another GPU."""
        if isinstance(self._y, np.ndarray):
            self._device.download(outputs, self._y[begin:end])
        elif not self._is_here:
            self._device.copy(outputs, self._y[begin:end])


class Losses:
    """The loss of every genome, [P, 2], on the host: all that comes back from the GPU."""

    def __init__(self, device: Device, targets: Any, loss: int, losses: npt.NDArray[Any]) -> None:
        self._device = device
        self._targets = Visitor(device, targets)
        self._loss = loss
        self._losses = losses

    def place(self, work: Workload, begin: int, end: int) -> DeviceArray:
        """Memory that lasts as long as the loss is computed."""
        return self._device.empty((end - begin, work.num_samples, work.num_outputs), work.dtype)

    def deliver(self, work: Workload, begin: int, end: int, outputs: DeviceArray) -> None:
        """Adds up the losses of all samples on the GPU."""
        device = self._device
        losses = device.empty((end - begin, 2), work.dtype)
        plan = plan_loss(work, device.limits, self._loss)
        arguments = loss_arguments(plan, work, outputs, self._targets.here(), losses)
        device.launch(plan.kernel, plan.defines, plan.grid, plan.block, arguments, plan.shared_mem)
        device.download(losses, self._losses[begin:end])
