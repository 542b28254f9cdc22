"""cupy.cuda.Module: loads a recipe and runs its kernels on the SIMT runner."""

from __future__ import annotations

import functools
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests import simt

from .array import Array
from .errors import CUDADriverError
from .machine import Machine
from .nvrtc import from_image

SHARED_OPTIN = 99 << 10  # bytes that a block may ask for on sm_86


class Module:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._recipe: dict[str, Any] = {}

    def load(self, cubin: bytes) -> None:
        if not isinstance(cubin, bytes):
            raise TypeError(f"Argument 'cubin' has incorrect type {type(cubin).__name__}")
        self._recipe = from_image(cubin)
        arch = "sm_{}{}".format(*self._machine.compute_capability)
        if f"-arch={arch}" not in self._recipe["options"]:
            raise CUDADriverError(209)

    def get_function(self, name: str) -> Function:
        module = _compile(json.dumps(self._recipe), self._machine.mode)
        return Function(self._machine, module, name)


class Function:
    """A kernel on the GPU that was current when it was loaded."""

    def __init__(self, machine: Machine, module: simt.Module, name: str) -> None:
        self._machine = machine
        self._kernel = module.get_function(name)
        self._device = machine.current

    @property
    def ptr(self) -> Function:
        """CuPy's is a number; the stand-in needs no way back from it."""
        return self

    def _set_most_shared(self, size: int) -> None:
        if size + self._kernel.shared_size_bytes > SHARED_OPTIN:
            raise CUDADriverError(1)
        self._kernel.max_dynamic_shared_size_bytes = size

    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0) -> None:
        machine = self._machine
        if machine.current != self._device:
            raise AssertionError(f"{self._kernel.name} of GPU {self._device} on {machine.current}")
        if machine.launch_fault:
            raise CUDADriverError(machine.launch_fault)
        if 0 in (math.prod(grid), math.prod(block)):
            raise AssertionError(f"{self._kernel.name}: CuPy would turn the 0 of {grid} into a 1")
        values = tuple(self._value(arg) for arg in args)

        def run() -> None:
            self._kernel(grid, block, values, shared_mem=shared_mem, order=machine.order)

        machine.launches[self._kernel.name] += 1
        machine.log.append((self._kernel.name, self._device))
        machine.enqueue(run)

    def _value(self, arg: Any) -> Any:
        """What the kernel gets: the memory of a device array, or a scalar."""
        if isinstance(arg, np.ndarray):
            raise TypeError(f"You are trying to pass a numpy.ndarray of shape {arg.shape}")
        if not isinstance(arg, Array):
            return arg
        if arg._memory.device != self._device:
            raise AssertionError(
                f"{self._kernel.name} on GPU {self._device} gets memory of {arg._memory.device}"
            )
        # A kernel sees only an address: that of a strided view is where it starts.
        values = arg._values
        if not values.flags.c_contiguous:
            start = values.ctypes.data - arg._memory.address
            values = arg._memory.buffer[start:]
        return values


MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def get_attribute(attribute: int, function: Function) -> int:
    if attribute != MAX_DYNAMIC_SHARED:
        raise CUDADriverError(1)
    return function._kernel.max_dynamic_shared_size_bytes


def set_attribute(function: Function, attribute: int, value: int) -> None:
    if attribute != MAX_DYNAMIC_SHARED:
        raise CUDADriverError(1)
    function._set_most_shared(value)


@functools.cache  # machines come and go, but a kernel stays what it is
def _compile(image: str, mode: Any) -> simt.Module:
    recipe = json.loads(image)
    folders, defines = [], {}
    for option in recipe["options"]:
        for prefix in ("-I", "--include-path="):
            if option.startswith(prefix):
                folders.append(option.removeprefix(prefix))
        for prefix in ("-D", "--define-macro="):
            if option.startswith(prefix):
                name, _, value = option.removeprefix(prefix).partition("=")
                defines[name] = value or "1"
    # Where the kernel lies in a checkout, so that one compiled from there serves here too.
    kernel = f"cuda/{recipe['name']}"
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {kernel: recipe["source"], **recipe["headers"]}.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return simt.compile(
            Path(folder) / kernel, include_dirs=[folder, *folders], defines=defines, mode=mode
        )
