"""Wide levels: the kernels that train them, by backend.

`resolve_wide` finds them by name: `CpuWide`, `ReferenceWide` or `CudaWide`. All have the same
methods and give equal bits.
"""

from __future__ import annotations

from typing import TypeAlias

from evonet.backends import resolve_backend
from evonet.backends.cuda.wide import CudaWide
from evonet.backends.reference.wide import ReferenceWide
from evonet.backends.wide_cpu import CpuWide

WideKernels: TypeAlias = CpuWide | ReferenceWide | CudaWide


def resolve_wide(name: str, threads: int = 0) -> WideKernels:
    """Finds the kernels of a backend by name; "auto" takes the first that works here.

    Raises:
        OptionError: There is no such backend.
        BackendError: It cannot run on this machine.
    """
    found = resolve_backend(name).name
    if found == "cuda":
        return CudaWide()
    if found == "cpu":
        return CpuWide(threads)
    return ReferenceWide()
