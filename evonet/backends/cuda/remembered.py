"""What the networks of one share remember between calls, in the GPU's memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.arguments import memory_arguments
from evonet.errors import DeviceMemoryError

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device
    from evonet.backends.cuda.plan import LaunchPlan
    from evonet.schedule.schedule import Schedule


class Remembered:
    """Two states [C, N, B] that take turns: a call reads one and writes the other.

    So a call that runs out of memory halfway and starts again finds what it began with.
    """

    def __init__(self, device: Device, state: npt.NDArray[Any]) -> None:
        """Brings a state to the GPU.

        Raises:
            DeviceMemoryError: It does not fit.
        """
        self._device = device
        self.shape = state.shape
        self._dtype = state.dtype
        try:
            self._state = device.upload(state.reshape(-1))
            self._next = device.empty((state.size,), state.dtype)
        except DeviceMemoryError as error:
            raise DeviceMemoryError(
                f"{error} What {state.shape[1]} nodes remember of {state.shape[2]} samples does "
                "not fit there twice: pass fewer samples at a time."
            ) from error

    def arguments(self, first_node: int) -> tuple[Any, ...]:
        """Lists the state's arguments of a forward kernel whose first node is this one."""
        _, num_nodes, num_samples = self.shape
        begin = first_node * num_samples
        return (
            np.int64(num_nodes * num_samples),
            self._state[begin:] if begin < self._state.size else np.intp(0),
            self._next[begin:] if begin < self._next.size else np.intp(0),
        )

    def go_on(self) -> None:
        """Makes what a call has written the state."""
        self._state, self._next = self._next, self._state

    def read(self) -> npt.NDArray[Any]:
        """A copy on the host."""
        state = np.empty(self._state.size, self._dtype)
        if state.size:
            self._device.download(self._state, state)
        return state.reshape(self.shape)


def step_arguments(
    plan: LaunchPlan,
    schedule: Schedule,
    arrays: Mapping[str, Any],
    remembered: Remembered | None,
    first_node: int,
) -> tuple[Any, ...]:
    """Lists what forward kernels are told about memory, behind all other arguments.

    Args:
        plan: What `plan_forward` chose.
        schedule: P networks; without memory there is nothing to tell.
        arrays: What `layout.pack_schedule` gave, on the device.
        remembered: What they go on from; None is a first state that nobody keeps.
        first_node: Of those arrays, among the nodes of what is remembered.
    """
    if not schedule.dynamics.has_memory:
        return ()
    starts = (arrays["node_start"],) if plan.mapping == "samples" else ()
    nothing = np.int64(0), np.intp(0), np.intp(0)
    state = nothing if remembered is None else remembered.arguments(first_node)
    return (*starts, *memory_arguments(schedule, arrays), *state)
