"""Tells arrays in a GPU's memory from arrays in the host's, whichever library made them."""

from __future__ import annotations

from typing import Final

CUDA_KINDS: Final = (2, 13)  # DLPack's kDLCUDA and kDLCUDAManaged


def is_on_gpu(x: object) -> bool:
    """Tells whether something is an array in an NVIDIA GPU's memory."""
    if not hasattr(x, "__dlpack_device__"):
        return hasattr(x, "__cuda_array_interface__")
    try:
        return int(x.__dlpack_device__()[0]) in CUDA_KINDS
    except (BufferError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return False  # such an array tells its reason when it is read
