"""Backends: the places where schedules run.

cpu        the compiled extension: threads over genomes, SIMD over samples
reference  plain NumPy, readable: the oracle, and the fallback without a compiler
"""

from __future__ import annotations

from evonet.backends.base import Backend, Forward, Loss
from evonet.errors import check_option
from evonet.native import load_native

NAMES = ("cpu", "reference")

__all__ = ["NAMES", "Backend", "Forward", "Loss", "resolve_backend"]


def resolve_backend(name: str) -> Backend:
    """Finds a backend by name; "auto" takes the first of NAMES that works here.

    Raises:
        OptionError: There is no such backend.
        BackendError: It cannot run on this machine.
    """
    check_option("backend", name, ("auto", *NAMES))
    if name == "auto":
        name = "reference" if load_native() is None else "cpu"
    if name == "cpu":
        from evonet.backends.cpu import CpuBackend

        return CpuBackend()
    from evonet.backends.reference import ReferenceBackend

    return ReferenceBackend()
