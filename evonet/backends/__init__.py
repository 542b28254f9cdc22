"""Backends: the places where schedules run.

cuda       NVIDIA GPUs through CuPy
cpu        the compiled extension: threads over genomes, SIMD over samples
reference  plain NumPy, readable: the oracle, and the fallback without a compiler
"""

from __future__ import annotations

import functools
import os
import warnings

from evonet.backends.base import Backend, Bound, DeviceBound
from evonet.definitions.backends import BACKEND_NAMES
from evonet.errors import DeviceError, check_option
from evonet.installation import load_native

__all__ = [
    "Backend",
    "Bound",
    "DeviceBound",
    "resolve_backend",
]


def resolve_backend(name: str) -> Backend:
    """Finds a backend by name; "auto" takes the first of `BACKENDS` that works here.

    EVONET_BACKEND names what "auto" takes instead. Where no GPU works, "cuda" warns once, with a
    fix, and gives the processor's backend; "auto" does so only if CuPy is installed and the GPUs
    are not hidden.

    Raises:
        OptionError: There is no such backend.
        BackendError: It cannot run on this machine.
    """
    check_option("backend", name, BACKEND_NAMES)
    if name == "auto":
        name = os.environ.get("EVONET_BACKEND") or "auto"
        check_option("EVONET_BACKEND", name, BACKEND_NAMES)
    if name == "cuda" or (name == "auto" and _expects_gpu()):
        from evonet.backends.cuda.backend import CudaBackend

        try:
            return CudaBackend()
        except DeviceError as error:
            _warn_once(str(error))
            name = "auto"
    if name == "auto":
        name = "reference" if load_native() is None else "cpu"
    if name == "cpu":
        from evonet.backends.cpu import CpuBackend

        return CpuBackend()
    from evonet.backends.reference.backend import ReferenceBackend

    return ReferenceBackend()


def _expects_gpu() -> bool:
    from evonet.backends.cuda.discovery import has_cupy, hidden_on_purpose

    return has_cupy() and not hidden_on_purpose()


@functools.cache
def _warn_once(reason: str) -> None:
    warnings.warn(
        f"No GPU is used, evonet runs on the processor: {reason}", RuntimeWarning, stacklevel=5
    )
