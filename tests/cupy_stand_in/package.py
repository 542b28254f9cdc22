"""Puts the stand-in together as a package named cupy."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from . import errors
from .array import DLPACK_CUDA, Array
from .machine import Machine
from .module import MAX_DYNAMIC_SHARED, SHARED_OPTIN, Module, get_attribute, set_attribute
from .names import PACKAGES
from .nvrtc import Nvrtc
from .streams import Mark, StreamKey, Wait

THRUST_COUNTS = 1 << 20  # bytes that a sort takes beside copies of keys and order
HOST_TO_DEVICE = 1  # as CUDA numbers the directions of a copy


def install(monkeypatch: pytest.MonkeyPatch, cache: Path, **options: Any) -> Machine:
    """Makes `import cupy` give the stand-in, until the test ends.

    Args:
        monkeypatch: Undoes it.
        cache: Folder for what the product's compiler keeps.
        **options: Of the `Machine`.
    """
    from evonet import backends
    from evonet.backends.cuda import discovery

    machine = Machine(**options)
    for name in [name for name in sys.modules if name.split(".")[0] in PACKAGES]:
        monkeypatch.delitem(sys.modules, name)
    for name, module in make_package(machine).items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(discovery, "has_cupy", lambda: True)
    monkeypatch.setattr(discovery, "driver_version", lambda: machine.driver)
    for home, name in ((discovery, "_search"), (backends, "_warn_once")):
        monkeypatch.setattr(home, name, functools.cache(getattr(home, name).__wrapped__))
    monkeypatch.setenv("EVONET_CACHE", str(cache))
    monkeypatch.delenv("EVONET_BACKEND", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return machine


def make_package(machine: Machine) -> dict[str, ModuleType]:
    """All modules of the stand-in, by name."""
    nvrtc = Nvrtc(machine).module("cupy.cuda.nvrtc")
    memory = _module("cupy.cuda.memory", OutOfMemoryError=errors.OutOfMemoryError)
    driver = _module(
        "cupy.cuda.driver",
        CUDADriverError=errors.CUDADriverError,
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=MAX_DYNAMIC_SHARED,
        funcGetAttribute=get_attribute,
        funcSetAttribute=set_attribute,
    )
    runtime = _runtime(machine)
    cuda = _module(
        "cupy.cuda",
        nvrtc=nvrtc,
        memory=memory,
        driver=driver,
        runtime=runtime,
        Device=lambda index: Device(machine, index),
        get_current_stream=lambda: Stream(machine, machine.stream()[1]),
        Stream=lambda non_blocking=False: _new_stream(machine, non_blocking),
        Event=lambda disable_timing=False: Event(machine),
        Module=lambda: Module(machine),
        Graph=Graph,
        PinnedMemory=lambda size: PinnedMemory(machine, size),
    )
    pool = Pool(machine)
    cupy = _module(
        "cupy",
        __version__="14.2.0",
        cuda=cuda,
        ndarray=Array,
        empty=lambda shape, dtype: _empty(machine, shape, dtype),
        asarray=lambda a: _asarray(machine, a),
        argsort=lambda a: _argsort(machine, a),
        from_dlpack=lambda array: _from_dlpack(array),
        get_default_memory_pool=lambda: pool,
    )
    return {module.__name__: module for module in (cupy, cuda, runtime, driver, memory, nvrtc)}


def _module(name: str, **contents: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(contents)
    return module


# ---- arrays ----


def _empty(machine: Machine, shape: Any, dtype: Any) -> Array:
    kind = np.dtype(dtype)
    memory = machine.allocate(int(np.prod(shape, dtype=np.int64)) * kind.itemsize)
    return Array(machine, memory, memory.buffer.view(kind).reshape(shape))


def _asarray(machine: Machine, a: Any) -> Array:
    if isinstance(a, Array):
        return a
    if hasattr(a, "__cuda_array_interface__"):
        return _adopt(machine, a.__cuda_array_interface__)
    host = np.asarray(a)
    if not machine.is_pinned(host.ctypes.data):
        host = np.array(a, order="C")  # CuPy's own staging buffer, read when the copy runs
    array = _empty(machine, host.shape, host.dtype)
    machine.enqueue(lambda values=array._values: np.copyto(values, host))
    return array


def _argsort(machine: Machine, a: Any) -> Array:
    """Sorts a copy, stably, by Thrust: its own allocations have to find room in the pool."""
    if not isinstance(a, Array) or a.ndim != 1 or a.dtype.kind not in "iu":
        raise NotImplementedError("the stand-in sorts whole numbers on a GPU")
    if machine.launch_fault:
        raise errors.CUDARuntimeError(machine.launch_fault)
    inner = a.nbytes + 8 * a.size + THRUST_COUNTS
    order, keys = _empty(machine, a.shape, np.int64), _empty(machine, a.shape, a.dtype)
    if machine.spare < inner + order.nbytes + keys.nbytes:
        raise AssertionError("Thrust goes on without the memory that it did not get")
    given, copy, found = a._values, keys._values, order._values

    def sort() -> None:
        copy[...] = given
        found[...] = np.argsort(copy, kind="stable")
        copy.sort()

    machine.launches["argsort"] += 1
    machine.log.append(("argsort", machine.current))
    machine.enqueue(sort)
    return order


def _adopt(machine: Machine, interface: dict[str, Any]) -> Array:
    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    address = interface["data"][0]
    memory = machine.memory_at(address, 0)
    values = np.ndarray(
        shape, dtype, memory.buffer, address - memory.address, interface.get("strides")
    )
    return Array(machine, memory, values)


def _from_dlpack(array: Any) -> Array:
    kind, _ = array.__dlpack_device__()
    if kind != DLPACK_CUDA:
        raise TypeError(f"Unsupported array type: {kind}")
    return array.__dlpack__(stream=1, max_version=(1, 0), copy=None).take()


# ---- devices, streams, memory ----


class Device:
    """Makes a GPU the current one for a while."""

    def __init__(self, machine: Machine, index: int) -> None:
        self._machine = machine
        self._index = index
        self._before: list[int] = []

    def __enter__(self) -> None:
        before = self._machine.current
        self._machine.current = self._index
        self._before.append(before)

    def __exit__(self, *raised: object) -> None:
        self._machine.current = self._before.pop()


class Stream:
    """A stream of the GPU that was current when it was made; the default one is any thread's."""

    def __init__(self, machine: Machine, number: int, device: int | None = None) -> None:
        self._machine = machine
        self._number = number
        self._device = machine.current if device is None else device

    @property
    def ptr(self) -> int:
        return self._number

    def _key(self) -> StreamKey:
        return self._machine.stream(self._number, self._device)

    def synchronize(self) -> None:
        _refuse_capture(self._machine, self._key())
        self._machine.queues.finish(self._key())

    def record(self, event: Event | None = None) -> Event:
        event = event or Event(self._machine)
        event.record(self)
        return event

    def begin_capture(self) -> None:
        """Collects the launches of this stream; CUDA refuses default streams."""
        if self._number < FIRST_NUMBER or self._key() in self._machine.captures:
            raise errors.CUDARuntimeError(900)
        self._machine.captures[self._key()] = []

    def end_capture(self) -> Graph:
        key = self._key()
        if key not in self._machine.captures:
            raise errors.CUDARuntimeError(901)
        self._machine.num_graphs += 1
        return Graph(self._machine, self._device, self._machine.captures.pop(key))

    def wait_event(self, event: Event) -> None:
        _refuse_capture(self._machine, self._key())
        if event._mark is not None:
            self._machine.queues.add(self._key(), Wait(event._mark))

    def __enter__(self) -> Stream:
        if self._machine.current != self._device:
            raise RuntimeError("The device that the stream is created on does not match")
        self._machine.current_streams(self._device).append(self._number)
        return self

    def __exit__(self, *raised: object) -> None:
        self._machine.current_streams(self._device).pop()


FIRST_NUMBER = 1000  # of streams that are not default ones
_STREAM_NUMBERS = itertools.count(FIRST_NUMBER)


def _refuse_capture(machine: Machine, stream: StreamKey) -> None:
    """CUDA could join other streams to a capture; nobody here does, so it is a mistake."""
    if stream in machine.captures:
        raise AssertionError("events and waiting have no place in a capture")


class Graph:
    """Launches that were captured; a launch queues all of them, in order."""

    def __init__(self, machine: Machine, device: int, steps: list[Callable[[], None]]) -> None:
        self._machine = machine
        self._device = device
        self._steps = steps

    def launch(self) -> None:
        machine = self._machine
        if machine.current != self._device:
            raise errors.CUDARuntimeError(400)
        if machine.launch_fault:
            raise errors.CUDARuntimeError(machine.launch_fault)
        machine.graph_launches += 1
        for step in self._steps:
            machine.enqueue(step)


def _new_stream(machine: Machine, non_blocking: bool) -> Stream:
    if not non_blocking:
        raise NotImplementedError("the stand-in has no streams that wait for the default one")
    return Stream(machine, next(_STREAM_NUMBERS))


class Event:
    """A place in a stream; waiting for an event that was never recorded does nothing."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._mark: Mark | None = None

    def record(self, stream: Stream | None = None) -> None:
        _refuse_capture(self._machine, self._machine.stream())
        self._mark = Mark(self._machine.stream() if stream is None else stream._key())
        self._machine.queues.add(self._mark.stream, self._mark)

    def synchronize(self) -> None:
        if self._mark is not None:
            self._machine.queues.reach(self._mark)


class PinnedMemory:
    def __init__(self, machine: Machine, size: int) -> None:
        self._memory = machine.pin(size)
        self.ptr = self._memory.ctypes.data
        self.size = size


class Pool:
    """The default pool; every GPU has its own limit, and 0 is none."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._limits: dict[int, int] = {}

    def free_bytes(self) -> int:
        return 0

    def free_all_blocks(self) -> None:
        self._machine.num_released += 1
        self._machine.spare = 0
        self._machine.wait_for_all(self._machine.current)

    def total_bytes(self) -> int:
        return self._machine.used[self._machine.current]

    def get_limit(self) -> int:
        return self._limits.get(self._machine.current, 0)

    def set_limit(self, size: int) -> None:
        self._limits[self._machine.current] = size


def _runtime(machine: Machine) -> ModuleType:
    def properties(index: int) -> dict[str, Any]:
        machine.check_driver()
        major, minor = machine.compute_capability
        return {
            "name": b"Imaginary GPU",
            "totalGlobalMem": machine.memory,
            "major": major,
            "minor": minor,
            "multiProcessorCount": 4 + 2 * index,
            "sharedMemPerBlockOptin": SHARED_OPTIN,
            "sharedMemPerMultiprocessor": 100 << 10,
            "maxThreadsPerMultiProcessor": 1536,
            "regsPerMultiprocessor": 65536,
            "maxBlocksPerMultiProcessor": 16,
        }

    def count() -> int:
        machine.check_driver()
        return machine.num_devices

    def send(dst: int, src: int, size: int, kind: int, stream: int) -> None:
        if kind != HOST_TO_DEVICE:
            raise NotImplementedError("the stand-in copies this way only from the host")
        memory = machine.memory_at(dst, size)
        machine.send(src, memory, dst - memory.address, size, machine.stream(stream))

    def copy(dst: int, dst_device: int, src: int, src_device: int, size: int, stream: int) -> None:
        views = []
        for address, device in ((dst, dst_device), (src, src_device)):
            memory = machine.memory_at(address, size)
            if memory.device != device:
                raise errors.CUDARuntimeError(1)
            place = address - memory.address
            views.append(memory.buffer[place : place + size])
        machine.enqueue(lambda: np.copyto(*views), machine.stream(stream))

    def free() -> tuple[int, int]:
        return machine.memory - machine.used[machine.current], machine.memory

    return _module(
        "cupy.cuda.runtime",
        CUDARuntimeError=errors.CUDARuntimeError,
        getDevice=lambda: machine.current,
        getDeviceCount=count,
        getDeviceProperties=properties,
        driverGetVersion=lambda: machine.driver,
        runtimeGetVersion=lambda: machine.runtime,
        memGetInfo=free,
        memcpyPeerAsync=copy,
        memcpyAsync=send,
        memcpyHostToDevice=HOST_TO_DEVICE,
        setDevice=lambda device: setattr(machine, "current", device),
    )
