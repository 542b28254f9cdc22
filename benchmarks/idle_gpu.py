"""A GPU that does nothing, so that only the host's work takes time.

`install` puts it in CuPy's place. It allocates without clearing, queues nothing, runs no kernel and
copies nothing: a real GPU does all of that by itself while the host goes on. What results from it
has no meaning, unless it is lent what another GPU sent to the host (`benchmarks.recorded_gpu`): the
host then takes the same way as there.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from evonet import backends
from evonet.backends.cuda import discovery
from tests.cupy_stand_in import Machine, make_package

MEMORY = 80 << 30  # bytes, as an H100 has
ADDRESS = 1 << 40


@dataclasses.dataclass
class Tally:
    """What the host has asked of the GPU.

    `events` are launches by name, and downloads as None, at times that leave out `copying`.
    """

    launches: Counter[str] = dataclasses.field(default_factory=Counter)
    downloads: int = 0
    downloaded: int = 0  # bytes
    uploads: int = 0
    uploaded: int = 0  # bytes
    allocations: int = 0
    events: list[tuple[str | None, float]] = dataclasses.field(default_factory=list)
    copying: float = 0.0  # seconds in which recorded downloads were copied: the GPU's work

    def note(self, *how: Any) -> None:
        """Counts a copy from the host."""
        self.uploads += 1
        self.uploaded += how[2]


class _Now:
    """The tally of the GPU that is installed, and what it sends."""

    tally = Tally()
    tape: Iterator[np.ndarray[Any, Any]] | None = None


class Array:
    """As much of `cupy.ndarray` as evonet uses; there is no memory behind it."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.ndim = len(shape)
        self.size = math.prod(shape)
        self.nbytes = self.size * self.dtype.itemsize
        self.data = SimpleNamespace(ptr=ADDRESS)
        self.flags = SimpleNamespace(c_contiguous=True)
        self.device = SimpleNamespace(id=0)

    @classmethod
    def allocate(cls, shape: Any, dtype: Any) -> Array:
        """What `cupy.empty` gives."""
        _Now.tally.allocations += 1
        return cls(shape, dtype)

    def __dlpack__(self, **how: Any) -> Any:
        raise NotImplementedError

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def get(self, out: np.ndarray[Any, Any], **options: Any) -> None:
        """Writes what another GPU wrote, if it is known: the copy is the GPU's work."""
        start = time.perf_counter()
        tally = _Now.tally
        tally.downloads += 1
        tally.downloaded += out.nbytes
        tally.events.append((None, start - tally.copying))
        if _Now.tape is not None:
            out[...] = next(_Now.tape)
        tally.copying += time.perf_counter() - start

    def reshape(self, *shape: int) -> Array:
        """Makes it flat."""
        return Array((self.size,), self.dtype)

    def view(self, dtype: Any) -> Array:
        """Makes it flat, of another type."""
        return Array((self.nbytes // np.dtype(dtype).itemsize,), dtype)

    def __getitem__(self, place: Any) -> Array:
        begin, end, _ = place.indices(self.shape[0])
        return Array((end - begin, *self.shape[1:]), self.dtype)

    def __len__(self) -> int:
        return self.shape[0]


def argsort(keys: Array) -> Array:
    """Sorts nothing; CuPy would copy the keys, too."""
    tally = _Now.tally
    tally.launches["argsort"] += 1
    tally.events.append(("argsort", time.perf_counter() - tally.copying))
    Array.allocate(keys.shape, keys.dtype)
    return Array.allocate(keys.shape, np.int64)


class Stream:
    """A stream without work."""

    ptr = 2

    def wait_event(self, event: Any) -> None:
        """Has nothing to wait for."""

    def synchronize(self) -> None:
        """Has nothing to wait for."""

    def begin_capture(self) -> None:
        """Captures nothing."""

    def end_capture(self) -> Any:
        """Returns a graph that does nothing."""
        return SimpleNamespace(launch=lambda: None)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *raised: object) -> None: ...


class Event:
    """An event that has always happened."""

    def record(self, stream: Any = None) -> None:
        """Notes nothing."""

    def synchronize(self) -> None:
        """Has nothing to wait for."""


class Module:
    """Kernels that do nothing."""

    def load(self, cubin: bytes) -> None:
        """Takes any image."""

    def get_function(self, name: str) -> Any:
        """Returns a kernel that does nothing."""

        def launch(grid: Any, block: Any, args: Any, *, shared_mem: int = 0) -> None:
            tally = _Now.tally
            tally.launches[name] += 1
            tally.events.append((name, time.perf_counter() - tally.copying))

        launch.ptr = 0  # type: ignore[attr-defined]
        return launch


def install(downloads: list[np.ndarray[Any, Any]] | None = None) -> Tally:
    """Makes `import cupy` give this one, for the rest of the process.

    Args:
        downloads: What the GPU sends to the host, in order; None for nothing.

    Returns:
        What the host asks of it from now on.
    """
    _Now.tally, _Now.tape = Tally(), None if downloads is None else iter(downloads)
    machine = Machine(memory=MEMORY)
    package = make_package(machine)
    stream, cuda, runtime = Stream(), package["cupy.cuda"], package["cupy.cuda.runtime"]
    vars(cuda).update(
        get_current_stream=lambda: stream,
        Stream=lambda non_blocking=False: stream,
        Event=lambda disable_timing=False: Event(),
        Module=Module,
    )
    vars(runtime).update(
        getDevice=lambda: 0,
        memcpyAsync=_Now.tally.note,
        memGetInfo=lambda: (MEMORY, MEMORY),
    )
    driver = package["cupy.cuda.driver"]
    vars(driver).update(funcGetAttribute=lambda a, f: 48 << 10, funcSetAttribute=lambda f, a, v: 0)
    vars(package["cupy"]).update(ndarray=Array, empty=Array.allocate, argsort=argsort)
    sys.modules.update(package)
    for home, name, found in (
        (discovery, "has_cupy", lambda: True),
        (discovery, "driver_version", lambda: machine.driver),
        (discovery, "try_device", lambda device: None),
    ):
        setattr(home, name, found)
    for home, name in ((discovery, "_search"), (backends, "_warn_once")):
        setattr(home, name, functools.cache(getattr(home, name).__wrapped__))
    os.environ["EVONET_CACHE"] = tempfile.mkdtemp()
    return _Now.tally
