"""A forward pass that was made before: only samples and outputs are other arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evonet.backends.cuda.cost import Workload
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.backends.cuda.launch import LaunchPlan


class PreparedCall:
    """The launch of a plan on genes that are uploaded; networks that remember nothing.

    Attributes:
        work: What it evaluates.
        x_shape: The shape of the samples that it takes.
        y_shape: The shape of its outputs.
    """

    def __init__(
        self,
        device: Device,
        launch: Callable[[tuple[Any, ...]], None],
        work: Workload,
        arguments: tuple[tuple[Any, ...], tuple[Any, ...]],
        x_shape: tuple[int, ...],
    ) -> None:
        self.work = work
        self.x_shape = x_shape
        self.y_shape = work.num_genomes, work.num_samples, work.num_outputs
        self._device = device
        self._launch = launch
        self._before, self._behind = arguments

    @classmethod
    def of(
        cls,
        device: Device,
        plan: LaunchPlan,
        work: Workload,
        arguments: tuple[Any, ...],
        x: DeviceArray,
    ) -> PreparedCall:
        """Takes the arguments of a launch, among which x is followed by the outputs."""
        at = next(i for i, value in enumerate(arguments) if value is x)
        parts = arguments[:at], arguments[at + 2 :]
        return cls(device, device.prepare(plan), work, parts, x.shape)

    def takes(self, x: DeviceArray) -> bool:
        """Whether samples of a GPU, of that shape, can be used as they are."""
        return bool(x.dtype == self.work.dtype and x.flags.c_contiguous and self._device.holds(x))

    def run(self, x: DeviceArray, y: DeviceArray) -> None:
        """Evaluates samples x to y [P, B, O] on the current stream."""
        self._launch((*self._before, x, y, *self._behind))
