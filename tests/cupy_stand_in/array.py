"""cupy.ndarray: an array that the host can reach only by asking for a copy.

It has no arithmetic at all, so code that would mix host and device by accident fails.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .machine import Machine, Memory

DLPACK_CUDA = 2


class Array:
    """A view of some memory of one GPU."""

    __array_ufunc__ = None
    __array_priority__ = 100

    def __init__(self, machine: Machine, memory: Memory, values: np.ndarray) -> None:
        self._machine = machine
        self._memory = memory
        self._values = values

    shape = property(lambda self: self._values.shape)
    dtype = property(lambda self: self._values.dtype)
    ndim = property(lambda self: self._values.ndim)
    size = property(lambda self: self._values.size)
    nbytes = property(lambda self: self._values.nbytes)
    itemsize = property(lambda self: self._values.itemsize)
    strides = property(lambda self: self._values.strides)

    @property
    def flags(self) -> Any:
        return SimpleNamespace(
            c_contiguous=self._values.flags.c_contiguous,
            f_contiguous=self._values.flags.f_contiguous,
        )

    @property
    def device(self) -> Any:
        return SimpleNamespace(id=self._memory.device)

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self._values.ctypes.data if self.size else 0)

    def get(
        self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True
    ) -> np.ndarray:
        """Copies to the host after all work on this thread's stream."""
        if stream is not None or order != "C" or not blocking:
            raise NotImplementedError("the stand-in copies in C order, on the current stream")
        self._machine.wait(self._memory.device)
        if out is None:
            return self._values.copy()
        if not isinstance(out, np.ndarray) or out.dtype != self.dtype:
            raise TypeError(f"{out!r} cannot be obtained from {self.dtype} array")
        if out.shape != self.shape:
            raise ValueError(f"Shape mismatch. Expected {self.shape}, actual {out.shape}")
        if not (out.flags.c_contiguous and self.flags.c_contiguous):
            raise RuntimeError("`out` cannot be specified when copying to non-contiguous ndarray")
        out[...] = self._values
        return out

    def __len__(self) -> int:
        return len(self._values)

    def reshape(self, *shape: int) -> Array:
        if not self.flags.c_contiguous:
            raise NotImplementedError("the stand-in reshapes without a copy")
        return Array(self._machine, self._memory, self._values.reshape(*shape))

    def __getitem__(self, place: Any) -> Array:
        places = place if isinstance(place, tuple) else (place,)
        if not all(isinstance(p, slice) or p is None or p is Ellipsis for p in places):
            raise TypeError("the stand-in has only slices")
        return Array(self._machine, self._memory, self._values[place])

    def __setitem__(self, place: Any, value: Any) -> None:
        raise TypeError(f"Unsupported type {type(value)}")

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.data.ptr, False),
            "strides": None if self.flags.c_contiguous else self.strides,
            "version": 3,
            "stream": 1,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLPACK_CUDA, self._memory.device

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, copy: Any = None) -> Any:
        """A capsule would hold the pointer; the stand-in's holds the array."""
        return Capsule(self)


class Capsule:
    """What `__dlpack__` gives; to be taken once."""

    def __init__(self, array: Array) -> None:
        self.array: Array | None = array

    def take(self) -> Array:
        if self.array is None:
            raise ValueError("a DLPack capsule can be consumed only once")
        array, self.array = self.array, None
        return array
