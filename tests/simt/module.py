"""Modules and kernels: CuPy's RawModule and RawKernel, on the CPU."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from . import limits
from .arena import Arena
from .build import MODES, build, preprocess, why_unavailable
from .errors import CompileError, Finding, KernelFault, LaunchError, SimtError
from .parameters import Parameter, check_arguments, is_null, value_bytes
from .source import ELEMENT, GUARD, Translation
from .symbols import Variable, locate, read_variables

Mode = Literal["plain", "checked"]
Order = Literal["forward", "reverse", "random"]
ORDERS = {"forward": 0, "reverse": 1, "random": 2}

# The layouts of entry.h, launch.h and findings.h.


class _Parameter(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_char),
        ("is_pointer", ctypes.c_bool),
        ("is_const", ctypes.c_bool),
        ("scalar_size", ctypes.c_int),
        ("size", ctypes.c_int),
    )


class _Entry(ctypes.Structure):
    pass


_Entry._fields_ = (
    ("name", ctypes.c_char_p),
    ("parameter_names", ctypes.c_char_p),
    ("max_threads", ctypes.c_int),
    ("num_parameters", ctypes.c_int),
    ("parameters", ctypes.POINTER(_Parameter)),
    ("run", ctypes.c_void_p),
    ("next", ctypes.POINTER(_Entry)),
)


class _Region(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("begin", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("element", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
    )


WRITABLE, SHARED, THREAD_LOCAL, IN_IMAGE = 1, 2, 4, 8


class _Request(ctypes.Structure):
    _fields_ = (
        ("entry", ctypes.POINTER(_Entry)),
        ("args", ctypes.POINTER(ctypes.c_void_p)),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("dynamic_shared", ctypes.c_uint64),
        ("seed", ctypes.c_uint64),
        ("timeout", ctypes.c_double),
        ("order", ctypes.c_int32),
        ("num_workers", ctypes.c_int32),
        ("regions", ctypes.POINTER(_Region)),
        ("num_regions", ctypes.c_uint64),
        ("arena", ctypes.c_uint64),
        ("arena_size", ctypes.c_uint64),
    )


class _Finding(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_char_p),
        ("site", ctypes.c_uint64),
        ("other_site", ctypes.c_uint64),
        ("block", ctypes.c_uint32 * 3),
        ("thread", ctypes.c_uint32 * 3),
        ("count", ctypes.c_uint64),
        ("text", ctypes.c_char * 360),
    )


_one_launch_at_a_time = threading.Lock()


class Module:
    """The kernels of one .cu file."""

    def __init__(self, path: Path, translation: Translation, mode: Mode) -> None:
        self.mode = mode
        self.path = path
        self._unnamed = translation.unnamed_kernels
        self._constants = translation.constants
        self._variables = read_variables(path)
        self._library = ctypes.CDLL(str(path))
        self._library.simt_launch.restype = ctypes.c_uint64
        self._library.simt_launch.argtypes = (ctypes.POINTER(_Request),)
        self._library.simt_finding.restype = ctypes.POINTER(_Finding)
        self._library.simt_finding.argtypes = (ctypes.c_uint64,)
        self._entries: dict[str, Any] = {}
        entry = ctypes.POINTER(_Entry).in_dll(self._library, "simt_entries")
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
                return np.frombuffer(memory, np.uint8)
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

    def launch(self, request: _Request) -> list[Finding]:
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

    def checked_regions(self, kernel: str, arena: Arena) -> list[_Region]:
        """Returns all memory that a kernel may touch, but its dynamic shared memory."""
        regions = [
            _Region(r.name.encode(), r.address, r.size, r.element, WRITABLE if r.writable else 0)
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


class Kernel:
    """A kernel, to be called like CuPy's: kernel(grid, block, args)."""

    def __init__(self, module: Module, entry: Any) -> None:
        self._module = module
        self._entry = entry
        self.name: str = entry.contents.name.decode()
        names = entry.contents.parameter_names.decode().split(",")
        self.parameters = [
            Parameter(name, p.kind.decode(), p.is_pointer, p.is_const, p.scalar_size, p.size)
            for name, p in zip(
                names, entry.contents.parameters[: entry.contents.num_parameters], strict=False
            )
        ]
        self._raised_shared: int | None = None

    @property
    def max_threads_per_block(self) -> int:
        """Returns the kernel's __launch_bounds__, or what any block may have."""
        return int(self._entry.contents.max_threads) or limits.MAX_THREADS

    @property
    def shared_size_bytes(self) -> int:
        """Returns the size of the static __shared__ variables, as far as it is known.

        Variables of functions count even if the kernel does not call them.
        """
        return sum(variable.size for variable in self._module.shared_variables(self.name))

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """The largest shared_mem that a launch may ask for; can be raised, as in CuPy."""
        if self._raised_shared is not None:
            return self._raised_shared
        return limits.DEFAULT_SHARED - self.shared_size_bytes

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        static = self.shared_size_bytes
        if not 0 <= size <= limits.MAX_SHARED - static:
            raise LaunchError(
                f"{self.name}: {size} bytes of dynamic and {static} of static shared memory; "
                f"together at most {limits.MAX_SHARED}"
            )
        self._raised_shared = size

    def __call__(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        order: Order = "forward",
        seed: int = 0,
        workers: int = 1,
        timeout: float = 60.0,
    ) -> None:
        """Runs the kernel and waits until it is done.

        Args:
            grid: Number of blocks, one to three dimensions.
            block: Number of threads of a block, one to three dimensions.
            args: C-contiguous arrays and NumPy scalars, of the types that the kernel declares.
            shared_mem: Bytes of dynamic shared memory.
            order: In which order blocks run, and the threads of a block where CUDA leaves it open.
            seed: Of the random order.
            workers: OS threads to run blocks on; checked mode uses one.
            timeout: Seconds after which a launch counts as an endless loop.

        Raises:
            ArgumentError: An argument does not fit; nothing ran.
            LaunchError: A GPU would refuse the launch; nothing ran.
            KernelFault: The kernel did something wrong. In checked mode the arrays are untouched.
        """
        grid3 = limits.as_dim3("grid", grid, limits.MAX_GRID)
        block3 = limits.as_dim3("block", block, limits.MAX_BLOCK)
        limits.check_threads(self.name, block3, int(self._entry.contents.max_threads))
        static = self.shared_size_bytes
        limits.check_shared(self.name, static, shared_mem, self._raised_shared)
        check_arguments(self.name, self.parameters, args)
        if order not in ORDERS:
            raise LaunchError(f"order is {order!r}; use one of {', '.join(ORDERS)}")
        if workers < 1 or timeout <= 0:
            raise LaunchError(f"workers is {workers} and timeout {timeout}; both must be positive")

        arrays = {i: arg for i, arg in enumerate(args) if isinstance(arg, np.ndarray)}
        request = _Request(
            entry=self._entry,
            grid=grid3,
            block=block3,
            dynamic_shared=shared_mem,
            seed=seed % 2**64,
            timeout=timeout,
            order=ORDERS[order],
            num_workers=workers,
        )
        arena = None
        addresses = {i: array.ctypes.data for i, array in arrays.items()}
        if self._module.mode == "checked":
            arena = Arena(self.parameters, arrays)
            addresses = arena.addresses
            regions = self._module.checked_regions(self.name, arena)
            request.regions = (_Region * len(regions))(*regions)
            request.num_regions = len(regions)
            request.arena, request.arena_size = arena.base, arena.memory.nbytes
            request.num_workers = 1
        values = [self._value(i, arg, addresses) for i, arg in enumerate(args)]
        request.args = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        findings = self._module.launch(request)
        if findings:
            raise KernelFault(findings)
        if arena:
            arena.copy_back()

    def _value(self, place: int, arg: Any, addresses: Mapping[int, int]) -> Any:
        """Returns the memory that holds one argument: a pointer or a scalar."""
        if place in addresses:
            return ctypes.c_void_p(addresses[place])
        if self.parameters[place].is_pointer and is_null(arg):
            return ctypes.c_void_p(0)
        return value_bytes(arg)


def _region_of(variable: Variable, flags: int, element: int = 0) -> _Region:
    name = variable.short_name.encode()
    return _Region(name, variable.address, variable.size, element, flags)


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
    path, translation = build(preprocessed, mode)
    return Module(path, translation, mode)
