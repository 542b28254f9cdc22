"""Puts the stand-in together as a package named cupy."""

from __future__ import annotations

import ctypes
import functools
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from . import errors
from .array import DLPACK_CUDA, Array
from .machine import Machine
from .module import SHARED_OPTIN, RawModule
from .names import PACKAGES
from .nvrtc import Nvrtc


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
    driver = _module("cupy.cuda.driver", CUDADriverError=errors.CUDADriverError)
    runtime = _runtime(machine)
    cuda = _module(
        "cupy.cuda",
        nvrtc=nvrtc,
        memory=memory,
        driver=driver,
        runtime=runtime,
        Device=lambda index=None: _Device(machine, index),
        get_current_stream=lambda: Stream(machine, machine.current),
    )
    pool = Pool(machine)
    cupy = _module(
        "cupy",
        __version__="14.2.0",
        cuda=cuda,
        ndarray=Array,
        empty=lambda shape, dtype: _empty(machine, shape, dtype),
        asarray=lambda a: _asarray(machine, a),
        from_dlpack=lambda array: _from_dlpack(array),
        RawModule=lambda *, path: RawModule(machine, path),
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
    host = np.ascontiguousarray(a)
    array = _empty(machine, host.shape, host.dtype)
    array._values[...] = host
    return array


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


class _Device:
    def __init__(self, machine: Machine, index: int | None) -> None:
        self._machine = machine
        self.id = machine.current if index is None else index
        self._before: list[int] = []

    def __enter__(self) -> _Device:
        self._before.append(self._machine.current)
        self._machine.current = self.id
        return self

    def __exit__(self, *raised: object) -> None:
        self._machine.current = self._before.pop()


class Stream:
    def __init__(self, machine: Machine, device: int) -> None:
        self._machine = machine
        self._device = device

    def synchronize(self) -> None:
        self._machine.wait(self._device)


class Pool:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def free_bytes(self) -> int:
        return 0

    def free_all_blocks(self) -> None:
        self._machine.wait_for_all(self._machine.current)


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
        }

    def count() -> int:
        machine.check_driver()
        return machine.num_devices

    def copy(dst: int, dst_device: int, src: int, src_device: int, size: int) -> None:
        for address, device in ((dst, dst_device), (src, src_device)):
            if size and machine.memory_at(address, size).device != device:
                raise errors.CUDARuntimeError(1)
            machine.wait_for_all(device)
        ctypes.memmove(dst, src, size)

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
        memcpyPeer=copy,
    )
