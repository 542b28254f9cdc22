"""The states of networks with memory, which stay on the GPUs between calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.arguments import NULL
from evonet.errors import DeviceMemoryError

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device


class DeviceState:
    """Two states [C, N, B] of a shard that take turns: a call reads one and writes the other.

    So a call that runs out of memory halfway and starts again finds the state that it started with.
    """

    def __init__(self, device: Device, state: npt.NDArray[Any]) -> None:
        """Copies a state to the GPU."""
        self.shape = state.shape
        self._device = device
        self._dtype = state.dtype
        try:
            self._state = device.upload(state.reshape(-1))
            self._next = device.empty((state.size,), state.dtype)
        except DeviceMemoryError as error:
            raise DeviceMemoryError(
                f"{error} The states of {state.shape[1]} nodes for {state.shape[2]} samples do "
                "not fit there twice: pass fewer samples at a time."
            ) from error

    def arguments(self, first_node: int) -> tuple[Any, ...]:
        """Lists the arguments of a forward kernel that starts with this node of the shard."""
        _, num_nodes, num_samples = self.shape
        begin = first_node * num_samples
        return (
            np.int64(num_nodes * num_samples),
            self._state[begin:] if begin < self._state.size else NULL,
            self._next[begin:] if begin < self._next.size else NULL,
        )

    def swap(self) -> None:
        """Makes what a call has written the state."""
        self._state, self._next = self._next, self._state

    def read(self) -> npt.NDArray[Any]:
        """A copy on the host."""
        state = np.empty(self._state.size, self._dtype)
        if state.size:
            self._device.download(self._state, state)
        return state.reshape(self.shape)
