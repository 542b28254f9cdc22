"""Arrays that stay on a GPU between calls, whichever streams the calls use.

Streams run side by side, and CuPy orders nothing between them. So whoever reads waits for the
stream that wrote, and memory is freed only after all other streams are done with it: CuPy would
give it to the stream that allocated it, whose next work does not wait for theirs.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from evonet.errors import DeviceError

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray, Moment, StreamKey


class Resident:
    """Arrays by name, allocated on the stream that is current when this is made.

    A call that uses them starts with `wait` and ends with `was_read` or `was_written`.
    """

    def __init__(self, device: Device, arrays: Mapping[str, DeviceArray]) -> None:
        """Takes arrays whose contents, if they have any, are already queued on this stream."""
        self.arrays = arrays
        self.device = device
        self._written = device.record()
        self._home = self._written  # holds the stream, so that no other one gets its number
        self._uses: dict[StreamKey, Moment] = {}  # the last one of every other stream

    def is_at_home(self, stream: StreamKey) -> bool:
        """Whether a stream allocated and wrote the arrays, and so has nothing to wait for."""
        return stream == self._home.stream == self._written.stream

    def wait(self) -> None:
        """Lets the current stream wait for the one that wrote."""
        self.device.wait_for(self._written)

    def was_read(self) -> None:
        """Notes that the current stream reads the arrays."""
        if self.device.stream() != self._home.stream:
            moment = self.device.record()
            self._uses[moment.stream] = moment

    def was_written(self) -> None:
        """Notes that the current stream writes the arrays; a later `wait` waits for that."""
        self._written = self.device.record()
        if self._written.stream != self._home.stream:
            self._uses[self._written.stream] = self._written

    def __del__(self) -> None:
        if sys.is_finalizing():
            return
        with contextlib.suppress(DeviceError):
            for moment in self.__dict__.get("_uses", {}).values():
                self.device.wait_on_host(moment)


class ResidentPart(Resident):
    """Views of some of the arrays; whoever uses them uses the whole."""

    def __init__(self, whole: Resident, arrays: Mapping[str, DeviceArray]) -> None:
        self.arrays = arrays
        self.device = whole.device
        self._whole = whole

    def is_at_home(self, stream: StreamKey) -> bool:
        """Asks the whole."""
        return self._whole.is_at_home(stream)

    def wait(self) -> None:
        """Waits for the whole."""
        self._whole.wait()

    def was_read(self) -> None:
        """Notes that the whole is read."""
        self._whole.was_read()

    def was_written(self) -> None:
        """Notes that the whole is written."""
        self._whole.was_written()
