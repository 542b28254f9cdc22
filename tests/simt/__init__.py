"""Runs CUDA kernels on the CPU, to verify them where there is no GPU.

    from tests import simt

    module = simt.compile("saxpy.cu", mode="checked")
    saxpy = module.get_function("saxpy")
    saxpy((4,), (256,), (np.int32(n), np.float32(2), x, y))

`mode="plain"` computes; `mode="checked"` also finds races, accesses out of bounds, reads of
uninitialised shared memory, divergent barriers and wrong warp masks, and raises KernelFault with
the lines. README.md tells how, and what it cannot see.
"""

from .build import why_unavailable
from .errors import (
    ArgumentError,
    CompileError,
    Finding,
    KernelFault,
    LaunchError,
    Location,
    SimtError,
)
from .kernel import Kernel
from .module import Module, compile

__all__ = [
    "ArgumentError",
    "CompileError",
    "Finding",
    "Kernel",
    "KernelFault",
    "LaunchError",
    "Location",
    "Module",
    "SimtError",
    "compile",
    "why_unavailable",
]
