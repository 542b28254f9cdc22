"""What the networks of one share remember between calls, in the GPU's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.errors import DeviceMemoryError

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray


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
            self._state = device.upload(np.ascontiguousarray(state))
            self._next = device.empty(state.shape, state.dtype)
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
            _from(self._state, begin),
            _from(self._next, begin),
        )

    def go_on(self) -> None:
        """Makes what a call has written the state."""
        self._state, self._next = self._next, self._state

    def read(self) -> npt.NDArray[Any]:
        """A copy on the host."""
        state = np.empty(self.shape, self._dtype)
        if state.size:
            self._device.download(self._state, state)
        return state


def state_arguments(remembered: Remembered | None, first_node: int) -> tuple[Any, ...]:
    """Lists the state's arguments of a forward kernel; None is a first state that nobody keeps."""
    if remembered is None:
        return np.int64(0), np.intp(0), np.intp(0)
    return remembered.arguments(first_node)


def _from(array: DeviceArray, begin: int) -> Any:
    """The array's memory from some number on."""
    flat = array.reshape(-1)
    return flat[begin:] if begin < flat.size else np.intp(0)
