"""The states of networks with memory, which stay on the GPUs between calls."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.arguments import NULL
from evonet.backends.cuda.resident import Resident
from evonet.errors import DeviceMemoryError

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray


class DeviceState:
    """Two states [C, N, B] of a shard that take turns: a call reads one and writes the other.

    So a call that runs out of memory halfway and starts again finds the state that it started with.
    Networks that start from no state have none to read: kernels make their first one.
    """

    def __init__(
        self,
        device: Device,
        shape: tuple[int, int, int],
        dtype: np.dtype[Any],
        state: DeviceArray | None = None,
    ) -> None:
        """Takes over a contiguous state of this GPU, of any shape; None for no state."""
        self.shape = shape
        self._device = device
        self._dtype = dtype
        self._size = math.prod(shape)
        self._state = None if state is None else Resident(device, {"": state.reshape(-1)})
        self._next: Resident | None = None

    def prepare(self) -> None:
        """Makes room for what the next call writes, on the current stream."""
        if self._next is not None:
            return
        try:
            memory = self._device.empty((self._size,), self._dtype)
        except DeviceMemoryError as error:
            raise DeviceMemoryError(
                f"{error} The states of {self.shape[1]} nodes for {self.shape[2]} samples do "
                "not fit there twice: pass fewer samples at a time."
            ) from error
        self._next = Resident(self._device, {"": memory})

    def arguments(self, first_node: int) -> tuple[Any, ...]:
        """Lists the arguments of a forward kernel that starts with this node of the shard."""
        _, num_nodes, num_samples = self.shape
        begin = first_node * num_samples
        return (
            np.int64(num_nodes * num_samples),
            self._from(self._state, begin),
            self._from(self._next, begin),
        )

    def wait(self) -> None:
        """Lets the current stream wait for the call before."""
        for memory in (self._state, self._next):
            if memory is not None:
                memory.wait()

    def was_used(self) -> None:
        """Notes that a kernel on the current stream reads one state and writes the other."""
        if self._state is not None:
            self._state.was_read()
        if self._next is not None:
            self._next.was_written()

    def swap(self) -> None:
        """Makes what a call has written the state."""
        self._state, self._next = self._next, self._state

    def read(self) -> npt.NDArray[Any]:
        """A copy on the host, after a call or of what it was made from."""
        found = np.empty(self._size, self._dtype)
        if found.size and self._state is not None:
            self._state.wait()
            self._device.download(self._state.arrays[""], found)
        return found.reshape(self.shape)

    def _from(self, memory: Resident | None, begin: int) -> Any:
        return NULL if memory is None or begin >= self._size else memory.arrays[""][begin:]
