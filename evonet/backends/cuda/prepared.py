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
    """

    def __init__(
        self,
        launch: Callable[[tuple[Any, ...]], None],
        work: Workload,
        arguments: tuple[tuple[Any, ...], tuple[Any, ...]],
        x_shape: tuple[int, ...],
    ) -> None:
        self.work = work
        self.x_shape = x_shape
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
        return cls(device.prepare(plan), work, parts, x.shape)

    def run(self, x: DeviceArray, y: DeviceArray) -> None:
        """Evaluates samples x to y [P, B, O] on the current stream."""
        self._launch((*self._before, x, y, *self._behind))
