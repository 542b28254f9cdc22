"""Samples and targets on their way to a GPU, or on one already but not in the network's form."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evonet.errors import ShapeError

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray

_THREADS = 256
C_NAMES = {
    "b1": "unsigned char",
    "i1": "signed char",
    "i2": "short",
    "i4": "int",
    "i8": "long long",
    "u1": "unsigned char",
    "u2": "unsigned short",
    "u4": "unsigned int",
    "u8": "unsigned long long",
    "f4": "float",
    "f8": "double",
}


def gather(device: Device, x: DeviceArray, dtype: np.dtype[Any]) -> DeviceArray:
    """Copies samples of the same GPU to contiguous ones of the network's type, if they are not.

    Integers and wider floats are rounded as NumPy rounds them, denormals included.

    Args:
        device: The GPU that holds x.
        x: [B, I] or [P, B, I] samples of any real type and layout.
        dtype: float32 or float64.

    Raises:
        ShapeError: The GPU cannot read the type.
        DeviceMemoryError: There is not enough memory.
    """
    if x.dtype == dtype and x.flags.c_contiguous:
        return x
    source = C_NAMES.get(f"{x.dtype.kind}{x.dtype.itemsize}")
    if source is None or not x.dtype.isnative:
        raise ShapeError(
            f"x on the GPU is {x.dtype}, which evonet does not read there. "
            f"Convert it first: x.astype({dtype.name!r})."
        )
    samples = device.empty(x.shape, dtype)
    count = math.prod(x.shape)
    if count == 0:
        return samples
    stride0, stride1, stride2 = (0, *x.strides)[-3:]
    numbers = (stride0, stride1, stride2, x.shape[-2], x.shape[-1], count)
    defines = {"SOURCE": source, "REAL": "float" if dtype == np.float32 else "double"}
    device.launch(
        "gather_samples",
        defines,
        (-(-count // _THREADS),),
        (_THREADS,),
        (x, *map(np.int64, numbers), samples),
    )
    return samples


class Visitor:
    """An array from elsewhere, brought to a GPU when it is first needed."""

    def __init__(self, device: Device, array: Any) -> None:
        """Remembers a C-contiguous array of the host or of any GPU."""
        self._device = device
        self._array = array
        self._here: DeviceArray | None = None

    def here(self) -> DeviceArray:
        """The array on the GPU; itself if it is there already.

        Raises:
            DeviceMemoryError: There is not enough memory.
        """
        if self._here is None:
            is_host = isinstance(self._array, np.ndarray)
            bring = self._device.upload if is_host else self._device.bring
            self._here = bring(self._array)
        return self._here
