"""A module: CuPy's RawModule, on the CPU."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .abi import (
    IN_IMAGE,
    SHARED,
    THREAD_LOCAL,
    WRITABLE,
    RawEntry,
    RawFinding,
    RawRegion,
    RawRequest,
)
from .arena import Arena
from .build import MODES, build, preprocess, why_unavailable
from .errors import CompileError, Finding, SimtError
from .kernel import Kernel
from .source import ELEMENT, GUARD, Notes
from .symbols import Variable, locate, read_variables

Mode = Literal["plain", "checked"]

_one_launch_at_a_time = threading.Lock()


class Module:
    """The kernels of one .cu file."""

    def __init__(self, path: Path, notes: Notes, mode: Mode) -> None:
        self.mode = mode
        self.path = path
        self._unnamed = notes.unnamed_kernels
        self._constants = notes.constants
        self._variables = read_variables(path)
        self._library = ctypes.CDLL(str(path))
        self._library.simt_launch.restype = ctypes.c_uint64
        self._library.simt_launch.argtypes = (ctypes.POINTER(RawRequest),)
        self._library.simt_finding.restype = ctypes.POINTER(RawFinding)
        self._library.simt_finding.argtypes = (ctypes.c_uint64,)
        self._entries: dict[str, Any] = {}
        entry = ctypes.POINTER(RawEntry).in_dll(self._library, "simt_entries")
        while entry:
            self._entries[entry.contents.name.decode()] = entry
            entry = entry.contents.next

    @property
    def kernel_names(self) -> list[str]:
        """Returns the names that get_function() knows."""
        return sorted(self._entries)

    def get_function(self, name: str) -> Kernel:
        """Returns a kernel by its name.

        Raises:
            CompileError: There is none, or its name is mangled.
        """
        if name in self._entries:
            return Kernel(self, self._entries[name])
        if name in self._unnamed:
            raise CompileError(f'kernel {name} is not extern "C": CuPy could not find its name')
        raise CompileError(f"no kernel {name}; there are {', '.join(self.kernel_names) or 'none'}")

    def get_global(self, name: str) -> np.ndarray:
        """Returns the bytes of a __device__ or __constant__ variable, to read and to write.

        Raises:
            CompileError: There is no such variable.
        """
        anchor = next(v for v in self._variables if v.name == "simt_entries")
        here = ctypes.c_void_p.in_dll(self._library, "simt_entries")
        base = ctypes.addressof(here) - anchor.address
        for variable in self._variables:
            if variable.short_name == name and not variable.is_shared:
                memory = (ctypes.c_uint8 * variable.size).from_address(base + variable.address)
                return np.ctypeslib.as_array(memory)
        raise CompileError(f"no __device__ or __constant__ variable {name}")

    def shared_variables(self, kernel: str) -> list[Variable]:
        """Returns the __shared__ variables that a kernel may use.

        Those of other kernels are left out; those of functions count for every kernel.
        """
        others = set(self._entries) - {kernel}
        return [
            variable
            for variable in self._variables
            if variable.is_shared
            and not variable.short_name.startswith(GUARD)
            and variable.name.split("::")[0].split("(")[0] not in others
        ]

    def launch(self, request: RawRequest) -> list[Finding]:
        """Runs a kernel and returns what went wrong."""
        with _one_launch_at_a_time:
            count = self._library.simt_launch(ctypes.byref(request))
            raw = [self._library.simt_finding(i).contents for i in range(count)]
            places = locate(self.path, [site for f in raw for site in (f.site, f.other_site)])
            return [
                Finding(
                    kind=f.kind.decode(),
                    kernel=request.entry.contents.name.decode(),
                    message=f.text.decode(errors="replace"),
                    location=places.get(f.site),
                    other=places.get(f.other_site),
                    block=tuple(f.block),
                    thread=tuple(f.thread),
                    count=f.count,
                )
                for f in raw
            ]

    def checked_regions(self, kernel: str, arena: Arena) -> list[RawRegion]:
        """Returns all memory that a kernel may touch, but its dynamic shared memory."""
        regions = [
            RawRegion(r.name.encode(), r.address, r.size, r.element, WRITABLE if r.writable else 0)
            for r in arena.regions
        ]
        for variable in self.shared_variables(kernel):
            flags = WRITABLE | SHARED | THREAD_LOCAL
            regions.append(_region_of(variable, flags, self._element_size(variable)))
        for variable in self._variables:
            if variable.is_shared or variable.name.startswith(("_", "simt", "completed.")):
                continue
            if variable.short_name.startswith(ELEMENT):
                continue
            constant = variable.in_read_only_section or variable.short_name in self._constants
            regions.append(_region_of(variable, IN_IMAGE | (0 if constant else WRITABLE)))
        return regions

    def _element_size(self, shared: Variable) -> int:
        """Returns the bytes of one element of a __shared__ variable; 0 if it is unknown."""
        name = f"{shared.name.removesuffix(shared.short_name)}{ELEMENT}{shared.short_name}"
        return next((v.size for v in self._variables if v.name == name), 0)


def _region_of(variable: Variable, flags: int, element: int = 0) -> RawRegion:
    name = variable.short_name.encode()
    return RawRegion(name, variable.address, variable.size, element, flags)


def compile(
    source: str | Path,
    *,
    name: str = "kernel.cu",
    include_dirs: Sequence[str | Path] = (),
    defines: Mapping[str, object] | None = None,
    mode: Mode = "plain",
) -> Module:
    """Compiles CUDA for the CPU.

    Args:
        source: The path of a .cu file, or the source itself (text with a line break).
        name: What messages call a source that has no path.
        include_dirs: Where to look for headers.
        defines: Macros and their values.
        mode: "plain" is fast; "checked" also looks for races, accesses out of bounds, reads of
            uninitialised shared memory, divergent barriers and their kin.

    Raises:
        CompileError: With the compiler's words, and lines of the .cu file.
    """
    if mode not in MODES:
        raise SimtError(f"mode is {mode!r}; use one of {', '.join(MODES)}")
    if reason := why_unavailable():
        raise SimtError(reason)
    if isinstance(source, str) and "\n" not in source:
        source = Path(source)
    if isinstance(source, Path):
        source = source.resolve()
        if not source.is_file():
            raise CompileError(f"no file {source}")
    folders = [Path(folder).resolve() for folder in include_dirs]
    preprocessed = preprocess(source, name, folders, defines or {}, mode)
    return Module(*build(preprocessed, mode), mode)
