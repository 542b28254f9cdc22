"""Imaginary GPUs: their memory, their streams, and the accidents that tests ask for."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import CUDARuntimeError, OutOfMemoryError
from .streams import NULL_STREAM, PER_THREAD_STREAM, Pace, Queues, StreamKey

POISON = 0xFF  # what fresh memory holds: NaN as a float, -1 as an integer


class Machine:
    """What a stand-in for CuPy runs on.

    Work is queued as on a GPU: a kernel or a copy runs when somebody waits for it. Streams do not
    wait for each other; `streams.py` has the rules. Every Python thread has a default stream of its
    own, unless `per_thread_streams` is False. Memory that is freed belongs to the stream on which
    it was allocated, as in CuPy's pool: the next work of that stream may overwrite it.

    Attributes:
        num_devices: GPUs.
        memory: Bytes of each.
        per_thread_streams: Whether every Python thread has a default stream of its own.
        unavailable: GPUs that other processes have for themselves.
        num_allocations: Allocations so far.
        fail_at: Numbers of allocations, counted from 1, that find no memory.
        fail_from: Number of the first allocation from which on there is no memory, or None.
        num_compiled: Calls of NVRTC's compiler.
        num_released: How often the whole memory pool was freed.
        spare: Bytes of the largest block that was freed since the pool was.
        num_sent: Bytes that were copied from the host, but for those of `cupy.asarray`.
        launches: Kernels that were launched, by name.
        log: Names of kernels with the GPU that ran them, in order.
        num_graphs: Graphs that were captured.
        graph_launches: How often graphs were launched.
        used: Bytes in use on each GPU.
        pinned: Bytes of page-locked host memory in use.
        most_pinned: What page-locked memory the host has; beyond it allocations fail.
        peak: The most bytes in use on each GPU so far.
        driver: Version of CUDA that the driver runs; 0 without a driver.
        runtime: Version of CUDA that CuPy was built for.
        order: In which order the SIMT runner runs threads.
        mode: "plain" or "checked".
    """

    def __init__(
        self,
        num_devices: int = 1,
        memory: int = 8 << 30,
        pace: Pace = "late",
        seed: int = 0,
        per_thread_streams: bool = True,
    ) -> None:
        self.num_devices = num_devices
        self.memory = memory
        self.per_thread_streams = per_thread_streams
        self.unavailable: set[int] = set()
        self.pinned = 0
        self.most_pinned = 8 << 30
        self.num_allocations = 0
        self.fail_at: set[int] = set()
        self.fail_from: int | None = None
        self.num_compiled = 0
        self.num_released = 0
        self.spare = 0
        self.num_sent = 0
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
        self.queues = Queues(pace, seed)
        self.lock = self.queues.lock
        self.captures: dict[StreamKey, list[Callable[[], None]]] = {}  # graphs in the making
        self.num_graphs = 0
        self.graph_launches = 0
        self._thread = threading.local()
        self._buffers: dict[int, weakref.ref[Memory]] = {}
        self._pinned: dict[int, int] = {}

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
        if device in self.unavailable:
            raise CUDARuntimeError(46)
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
        if self.current in self.unavailable:
            raise CUDARuntimeError(46)
        if self.stream() in self.captures:
            raise AssertionError("memory that a capture allocates belongs to nobody afterwards")
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
            weakref.finalize(memory, self._free, self.stream(), memory.buffer)
            self._buffers[memory.address] = weakref.ref(memory)
            return memory

    def _free(self, home: StreamKey, buffer: np.ndarray) -> None:
        with self.lock:
            self.used[home[0]] -= buffer.nbytes
            self.spare = max(self.spare, buffer.nbytes)
            self._buffers.pop(buffer.ctypes.data, None)
            if not self.queues.is_idle(home[0]):  # else there is nobody who could still read it
                self.queues.add(home, lambda: buffer.fill(POISON))

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

    # ---- page-locked memory of the host ----

    def pin(self, nbytes: int) -> np.ndarray:
        """Page-locked host memory."""
        self.check_driver()
        if self.pinned + nbytes > self.most_pinned:
            raise CUDARuntimeError(2)
        memory = np.full(nbytes, POISON, np.uint8)
        self.pinned += nbytes
        self._pinned[memory.ctypes.data] = nbytes
        weakref.finalize(memory, self._unpin, memory.ctypes.data, nbytes)
        return memory

    def _unpin(self, address: int, nbytes: int) -> None:
        self.pinned -= nbytes
        del self._pinned[address]

    def is_pinned(self, address: int) -> bool:
        """Whether an address of the host is in page-locked memory."""
        return any(start <= address < start + size for start, size in self._pinned.items())

    # ---- streams ----

    def stream(self, number: int | None = None, device: int | None = None) -> StreamKey:
        """A stream by number; None is the current one of this thread."""
        chosen = self.current if device is None else device
        if number is None:
            number = self.current_streams(chosen)[-1]
        thread = threading.get_ident() if number == PER_THREAD_STREAM else 0
        return chosen, number, thread

    def current_streams(self, device: int) -> list[int]:
        """This thread's stack of current streams of a GPU, to be pushed and popped."""
        stacks = self._thread.__dict__.setdefault("stacks", {})
        default = PER_THREAD_STREAM if self.per_thread_streams else NULL_STREAM
        found: list[int] = stacks.setdefault(device, [default])
        return found

    def enqueue(self, work: Callable[[], None], stream: StreamKey | None = None) -> None:
        """Puts work on a stream; None is this thread's current one of the current GPU.

        Work on a stream that is being captured goes to the graph instead.
        """
        key = stream or self.stream()
        if key in self.captures:
            self.captures[key].append(work)
        else:
            self.queues.add(key, work)

    def send(self, source: int, target: Memory, place: int, size: int, stream: StreamKey) -> None:
        """Queues a copy from the host.

        Ordinary memory is read at once, into a buffer of the driver; page-locked memory is read by
        the GPU when the copy runs.
        """
        self.num_sent += size
        staged = None if self.is_pinned(source) else ctypes.string_at(source, size)
        buffer = target.buffer  # a copy does not keep memory from being freed

        def copy() -> None:
            if staged is None and not self.is_pinned(source):
                raise AssertionError("page-locked memory was freed before a copy had read it")
            read = ctypes.string_at(source, size) if staged is None else staged
            buffer[place : place + size] = np.frombuffer(read, np.uint8)

        self.enqueue(copy, stream)

    def wait(self, device: int) -> None:
        """Does the work on this thread's stream of a GPU."""
        self.queues.finish(self.stream(device=device))

    def wait_for_all(self, device: int) -> None:
        """Does the work on all streams of a GPU."""
        self.queues.finish_device(device)


class Memory:
    """Bytes of one GPU."""

    def __init__(self, device: int, buffer: np.ndarray) -> None:
        self.device = device
        self.buffer = buffer
        self.address = buffer.ctypes.data
