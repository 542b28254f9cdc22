"""Copies host arrays to one GPU through a small ring of page-locked memory.

A GPU reads page-locked memory by itself, while the host goes on. CuPy would stage every array as a
whole and keep that much memory page-locked, and would let the GPU read an array that happens to be
page-locked already after its owner may have changed it. Here an array passes through a ring of
bounded size, piece by piece: when `send` returns, the array has been read.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from evonet.errors import DeviceMemoryError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evonet._native import SchedulePacker32, SchedulePacker64
    from evonet.backends.cuda.device import Device, DeviceArray, Moment, PinnedBuffer

Packer: TypeAlias = "SchedulePacker32 | SchedulePacker64"

LEAST_RING: Final = 1 << 20  # bytes
MOST_RING: Final = 32 << 20
ALIGNMENT: Final = 256  # bytes; a piece starts at a multiple


class Staging:
    """The ring of one GPU; it grows with the arrays that pass, up to `MOST_RING`."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._ring: PinnedBuffer | None = None
        self._head = 0  # where the next piece starts
        self._under_way: deque[tuple[int, int, Moment]] = deque()  # (begin, end, when it is read)
        self._lock = threading.Lock()

    def send(self, source: npt.NDArray[Any], target: DeviceArray) -> None:
        """Queues the copy of a C-contiguous host array on the current stream.

        The array may change when this returns. Where the host has no page-locked memory to give,
        the copy is over by then.
        """
        numbers = source.reshape(-1).view(np.uint8)
        with self._lock:
            ring = self._ring_for(numbers.size)
            if ring is None:
                self._device.copy_from_host(numbers, target, 0)
                self._device.finish()
                return
            piece = ring.numbers.size // 2  # one is filled while the other is read
            for begin in range(0, numbers.size, piece):
                part = numbers[begin : begin + piece]
                place = self._reserve(part.size)
                staged = ring.numbers[place : place + part.size]
                np.copyto(staged, part)
                self._device.copy_from_host(staged, target, begin)
                self._under_way.append((place, place + part.size, self._device.record()))

    def send_packed(
        self, packer: Packer, num_genomes: int, targets: Mapping[str, DeviceArray]
    ) -> None:
        """Packs genomes straight into the ring, piece by piece, and queues their copies.

        While the GPU copies one half of the ring, the other is filled. Genomes that are larger
        than that, and all of them where there is no page-locked memory, are packed elsewhere.
        """
        with self._lock:
            ring = self._ring_for(packer.nbytes(0, num_genomes))
            room = MOST_RING // 2 if ring is None else ring.numbers.size // 2
            begin = 0
            while begin < num_genomes:
                end = packer.piece_end(begin, room)
                size = packer.nbytes(begin, end)
                fits = ring is not None and size <= room
                place = self._reserve(size) if fits else 0
                staged = np.empty(size, np.uint8)
                if ring is not None and fits:
                    staged = ring.numbers[place : place + size]
                for name, at, nbytes, to in packer.write(begin, end, staged):
                    if nbytes:
                        part = staged[at : at + nbytes]
                        self._device.copy_from_host(part, targets[name], to)
                if fits:
                    self._under_way.append((place, place + size, self._device.record()))
                else:
                    self._device.finish()  # before that memory is freed
                begin = end

    def release(self) -> None:
        """Waits for all copies and frees the ring; the next copy makes a new one."""
        with self._lock:
            self._release()

    def _release(self) -> None:
        while self._under_way:
            self._device.wait_on_host(self._under_way.popleft()[2])
        self._ring, self._head = None, 0

    def _ring_for(self, nbytes: int) -> PinnedBuffer | None:
        """A ring that suits so many bytes; None if there is no page-locked memory."""
        size = LEAST_RING
        while size < min(2 * nbytes, MOST_RING):
            size *= 2
        if self._ring is None or self._ring.numbers.size < size:
            self._release()
            try:
                self._ring = self._device.pin(size)
            except DeviceMemoryError:
                return None
        return self._ring

    def _reserve(self, size: int) -> int:
        """Finds room for a piece, once what was there has been read; returns where it starts."""
        ring = self._ring
        assert ring is not None
        wraps = self._head + size > ring.numbers.size
        begin = 0 if wraps else self._head
        end = begin + size
        # Pieces lie in the order in which they were sent. So those in the way are the oldest ones:
        # all up to the ring's end, if it starts again, and then those that overlap.
        while self._under_way:
            first, last, moment = self._under_way[0]
            is_behind = wraps and first >= self._head
            if not is_behind and not (first < end and begin < last):
                break
            self._under_way.popleft()
            self._device.wait_on_host(moment)
        self._head = -(-end // ALIGNMENT) * ALIGNMENT
        return begin
