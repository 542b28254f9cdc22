"""Imaginary GPUs: their memory, their streams, and the accidents that tests ask for."""

from __future__ import annotations

import threading
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import CUDARuntimeError, OutOfMemoryError

POISON = 0xFF  # what fresh memory holds: NaN as a float, -1 as an integer


class Machine:
    """What a stand-in for CuPy runs on.

    Work is queued as on a GPU: a kernel runs when somebody waits for it. Every Python thread has
    streams of its own, and streams do not wait for each other.

    Attributes:
        num_devices: GPUs.
        memory: Bytes of each.
        num_allocations: Allocations so far.
        fail_at: Numbers of allocations, counted from 1, that find no memory.
        fail_from: Number of the first allocation from which on there is no memory, or None.
        launches: Kernels that were launched, by name.
        log: Names of kernels with the GPU that ran them, in order.
        used: Bytes in use on each GPU.
        peak: The most bytes in use on each GPU so far.
        driver: Version of CUDA that the driver runs; 0 without a driver.
        runtime: Version of CUDA that CuPy was built for.
        order: In which order the SIMT runner runs threads.
        mode: "plain" or "checked".
    """

    def __init__(self, num_devices: int = 1, memory: int = 8 << 30) -> None:
        self.num_devices = num_devices
        self.memory = memory
        self.num_allocations = 0
        self.fail_at: set[int] = set()
        self.fail_from: int | None = None
        self.launches: Counter[str] = Counter()
        self.log: list[tuple[str, int]] = []
        self.used = [0] * num_devices
        self.peak = [0] * num_devices
        self.driver = 13020
        self.runtime = 13020
        self.compute_capability = (8, 6)
        self.compile_fault = ""
        self.launch_fault = 0
        self.order: Any = "forward"
        self.mode: Any = "plain"
        self.lock = threading.RLock()
        self._thread = threading.local()
        self._queues: dict[tuple[int, int], list[Callable[[], None]]] = defaultdict(list)
        self._buffers: dict[int, weakref.ref[Memory]] = {}

    # ---- the current GPU of a thread ----

    @property
    def current(self) -> int:
        """The current GPU of this Python thread."""
        return getattr(self._thread, "device", 0)

    @current.setter
    def current(self, device: int) -> None:
        self.check_driver()
        if not 0 <= device < self.num_devices:
            raise CUDARuntimeError(101)
        self._thread.device = device

    def check_driver(self) -> None:
        """Raises what CUDA raises where there is no driver, too old a driver, or no GPU."""
        if self.driver < self.runtime // 1000 * 1000:
            raise CUDARuntimeError(35)
        if self.num_devices == 0:
            raise CUDARuntimeError(100)

    # ---- memory ----

    def allocate(self, nbytes: int) -> Memory:
        """Takes memory of the current GPU, or fails if a test wants it so."""
        self.check_driver()
        with self.lock:
            device = self.current
            if nbytes:
                self.num_allocations += 1
                number = self.num_allocations
                planned = number in self.fail_at
                exhausted = self.fail_from is not None and number >= self.fail_from
                if planned or exhausted or self.used[device] + nbytes > self.memory:
                    raise OutOfMemoryError(nbytes, self.used[device])
            memory = Memory(device, np.full(nbytes, POISON, np.uint8))
            self.used[device] += nbytes
            self.peak[device] = max(self.peak[device], self.used[device])
            weakref.finalize(memory, self._free, device, nbytes)
            self._buffers[memory.address] = weakref.ref(memory)
            return memory

    def _free(self, device: int, nbytes: int) -> None:
        with self.lock:
            self.used[device] -= nbytes

    def memory_at(self, address: int, nbytes: int) -> Memory:
        """The living allocation that holds some bytes.

        Raises:
            CUDARuntimeError: There is none: an invalid value.
        """
        with self.lock:
            for start, reference in self._buffers.items():
                memory = reference()
                if memory and start <= address <= address + nbytes <= start + memory.buffer.nbytes:
                    return memory
        raise CUDARuntimeError(1)

    # ---- streams ----

    def enqueue(self, work: Callable[[], None]) -> None:
        """Puts work on this thread's stream of the current GPU."""
        with self.lock:
            self._queues[threading.get_ident(), self.current].append(work)

    def wait(self, device: int) -> None:
        """Does the work on this thread's stream of a GPU."""
        self._drain((threading.get_ident(), device))

    def wait_for_all(self, device: int) -> None:
        """Does the work on all streams of a GPU."""
        with self.lock:
            streams = [key for key in self._queues if key[1] == device]
        for key in streams:
            self._drain(key)

    def _drain(self, stream: tuple[int, int]) -> None:
        with self.lock:
            work = self._queues.pop(stream, [])
            for step in work:
                step()


class Memory:
    """Bytes of one GPU."""

    def __init__(self, device: int, buffer: np.ndarray) -> None:
        self.device = device
        self.buffer = buffer
        self.address = buffer.ctypes.data
