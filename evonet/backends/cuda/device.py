"""The seam to CuPy: no other module touches it, so that tests can replace it as a whole.

`Device` is one GPU. It takes NumPy arrays on the host's side and opaque arrays on its own, and
turns every failure into a `DeviceError`. Work goes to CuPy's current stream, so it is in order with
what the caller does on that stream. Functions beside it count GPUs and call NVRTC.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from evonet.errors import CompileError, DeviceError, DeviceMemoryError
from evonet.installation import install_command

DeviceArray: TypeAlias = Any
"""A cupy.ndarray; CuPy has no types to name."""

Defines: TypeAlias = Mapping[str, int | str]
"""Macros that a kernel is compiled with, and their values."""

BLOCKS_PER_SM = {"sm_80": 32, "sm_87": 16, "sm_89": 24, "sm_90": 32, "sm_100": 32, "sm_103": 32}
_OUT_OF_MEMORY = 2  # cudaErrorMemoryAllocation and CUDA_ERROR_OUT_OF_MEMORY


# ---- what is installed ----


def _import_cupy() -> Any:
    return importlib.import_module("cupy")


def cupy_version() -> str:
    """The version of CuPy, such as "14.2.0"; a broken installation raises anything."""
    return str(_import_cupy().__version__)


def cuda_versions() -> tuple[int, int]:
    """CUDA as the driver runs it and as CuPy needs it, each as 1000 major + 10 minor."""
    runtime = _import_cupy().cuda.runtime
    return int(runtime.driverGetVersion()), int(runtime.runtimeGetVersion())


def count_devices() -> int:
    """The number of GPUs that CUDA sees; raises DeviceError if CUDA does not start."""
    runtime = _import_cupy().cuda.runtime
    try:
        return int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as error:
        raise DeviceError(str(error)) from error


def current_device() -> int:
    """CUDA's number of the GPU that CuPy uses by default."""
    return int(_import_cupy().cuda.runtime.getDevice())


# ---- NVRTC ----


class Compiled(NamedTuple):
    """The output of NVRTC for one kernel."""

    cubin: bytes  # the machine code
    ptx: str  # the assembly that it was made from, for people and tests to read
    log: str  # registers, spills and shared memory, as the assembler reports them


def nvrtc_version() -> str:
    """The version of NVRTC, such as "13.0"."""
    major, minor = _import_nvrtc().getVersion()
    return f"{major}.{minor}"


def compile_source(
    source: str, name: str, headers: Mapping[str, str], options: tuple[str, ...]
) -> Compiled:
    """Compiles a text that may include the headers given, by name, and no others."""
    nvrtc = _import_nvrtc()
    # Headers travel as texts: given a folder, NVRTC would look into the current one first.
    program = nvrtc.createProgram(
        source,
        f"{name}.cu",
        tuple(text.encode() for text in headers.values()),
        tuple(header.encode() for header in headers),
    )
    try:
        nvrtc.compileProgram(program, options)
        cubin = _complete(nvrtc.getCUBIN(program))
        return Compiled(cubin, _text(nvrtc.getPTX(program)), _text(nvrtc.getProgramLog(program)))
    except nvrtc.NVRTCError as error:
        log = _text(nvrtc.getProgramLog(program))
        raise CompileError(
            f"NVRTC {nvrtc_version()} cannot compile {name}.cu ({' '.join(options)}): "
            f"{error}\n{log}",
            log,
        ) from error
    finally:
        nvrtc.destroyProgram(program)


def _import_nvrtc() -> Any:
    try:
        from cupy.cuda import nvrtc

        nvrtc.getVersion()
    except (ImportError, OSError, RuntimeError) as error:
        raise CompileError(
            f"cannot compile kernels: {error}. Install CuPy and NVRTC with "
            f"{install_command('cuda13')}, or [cuda12] for an older driver."
        ) from error
    return nvrtc


def _complete(cubin: bytes) -> bytes:
    """Restores the last byte of a cubin.

    CuPy 14 takes NVRTC's cubins for texts and drops what it believes to be the terminating zero.
    That byte is the end of the ELF file's last table, a zero indeed, but tools reject the rest.
    """
    tables = struct.unpack_from("<QQ", cubin, 32)
    sizes = struct.unpack_from("<HHHH", cubin, 54)  # (size of an entry, entries) of each
    end = max(tables[0] + sizes[0] * sizes[1], tables[1] + sizes[2] * sizes[3])
    return cubin + bytes(max(0, end - len(cubin)))


def _text(found: bytes | str) -> str:
    text = found.decode(errors="replace") if isinstance(found, bytes) else found
    return text.rstrip("\0\n")


# ---- GPUs ----


@dataclasses.dataclass(frozen=True)
class DeviceLimits:
    """What a GPU offers to blocks of threads."""

    arch: str  # its architecture as compilers spell it, such as "sm_86"
    num_sms: int  # multiprocessors
    shared_per_block_optin: int  # bytes of shared memory that a block may ask for
    shared_per_sm: int  # bytes of shared memory of a multiprocessor
    max_threads_per_sm: int  # threads that a multiprocessor holds at a time
    registers_per_sm: int  # 32-bit registers of a multiprocessor

    @property
    def max_blocks_per_sm(self) -> int:
        """Blocks that a multiprocessor holds at a time; for an unknown one the least."""
        return BLOCKS_PER_SM.get(self.arch, 16)


def device_index(array: DeviceArray) -> int:
    """CUDA's number of the GPU that holds an array."""
    return int(array.device.id)


class Device:
    """One GPU; `index` is CUDA's number of it.

    Every method raises a `DeviceError` if CUDA fails, and a `DeviceMemoryError` if there is not
    enough memory for what it allocates.
    """

    def __init__(self, index: int, find_cubin: Callable[[str, Defines, str], Path]) -> None:
        """Looks up what a GPU can do; `find_cubin` is `compiler.cubin`."""
        self._cp = _import_cupy()
        self._find_cubin = find_cubin
        self._kernels: dict[tuple[object, ...], Any] = {}
        self.index = index
        self.name = f"GPU {index}"
        with self._errors("asking for its properties"):
            found = self._cp.cuda.runtime.getDeviceProperties(index)
        self.name = found["name"].decode(errors="replace")
        self.memory = int(found["totalGlobalMem"])  # bytes
        self.limits = DeviceLimits(
            arch=f"sm_{found['major']}{found['minor']}",
            num_sms=int(found["multiProcessorCount"]),
            shared_per_block_optin=int(found["sharedMemPerBlockOptin"]),
            shared_per_sm=int(found["sharedMemPerMultiprocessor"]),
            max_threads_per_sm=int(found["maxThreadsPerMultiProcessor"]),
            registers_per_sm=int(found["regsPerMultiprocessor"]),
        )

    @contextlib.contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        """Makes this the current GPU, and turns CUDA's errors into evonet's."""
        cp = self._cp
        try:
            with cp.cuda.Device(self.index):
                yield
        except cp.cuda.memory.OutOfMemoryError as error:
            raise DeviceMemoryError(self._fault(doing, error)) from error
        except (cp.cuda.runtime.CUDARuntimeError, cp.cuda.driver.CUDADriverError) as error:
            kind = DeviceMemoryError if error.status == _OUT_OF_MEMORY else DeviceError
            raise kind(self._fault(doing, error)) from error

    def _fault(self, doing: str, error: Exception) -> str:
        return (
            f"GPU {self.index} ({self.name}) failed while {doing}: {error} "
            "`python -m evonet.doctor --verify-gpu` tests this GPU."
        )

    # ---- arrays ----

    def empty(self, shape: Sequence[int], dtype: npt.DTypeLike) -> DeviceArray:
        """Allocates an array of undefined content."""
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        with self._errors(f"allocating {nbytes:,} bytes"):
            return self._cp.empty(tuple(shape), dtype)

    def holds(self, array: npt.NDArray[Any] | DeviceArray) -> bool:
        """Whether an array is in this GPU's memory."""
        return not isinstance(array, np.ndarray) and device_index(array) == self.index

    def upload(self, array: npt.NDArray[Any]) -> DeviceArray:
        """Copies a C-contiguous host array here; it may change afterwards."""
        with self._errors(f"copying {array.nbytes:,} bytes from the host"):
            return self._cp.asarray(array)

    def download(self, array: DeviceArray, out: npt.NDArray[Any]) -> None:
        """Copies an array to a C-contiguous host array, after all work before it."""
        with self._errors(f"copying {out.nbytes:,} bytes to the host"):
            array.get(out=out)

    def copy(self, source: DeviceArray, target: DeviceArray) -> None:
        """Copies between C-contiguous arrays of equal size, each on any GPU."""
        with self._errors(f"copying {source.nbytes:,} bytes between GPUs"):
            self._cp.cuda.runtime.memcpyPeer(
                target.data.ptr, target.device.id, source.data.ptr, source.device.id, source.nbytes
            )

    def bring(self, array: npt.NDArray[Any] | DeviceArray) -> DeviceArray:
        """Copies a C-contiguous array here, unless it is on this GPU already."""
        if isinstance(array, np.ndarray):
            return self.upload(array)
        if self.holds(array):
            return array
        copy = self.empty(array.shape, array.dtype)
        self.copy(array, copy)
        return copy

    def adopt(self, x: object) -> DeviceArray:
        """Wraps a device array of any library as CuPy's, without a copy.

        CuPy or the array's owner may refuse with a TypeError, ValueError or BufferError.
        """
        if isinstance(x, self._cp.ndarray):
            return x
        with self._errors("adopting an array"):
            if hasattr(x, "__dlpack__"):
                return self._cp.from_dlpack(x)
            return self._cp.asarray(x)

    # ---- kernels ----

    def launch(
        self,
        kernel: str,
        defines: Defines,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        arguments: tuple[Any, ...],
        shared_mem: int = 0,
    ) -> None:
        """Starts a kernel; it is compiled and loaded when it is first used.

        `kernel` names a .cu file of kernels/cuda/ and the entry point in it; `arguments` are arrays
        of this GPU and NumPy scalars, as the kernel declares them.
        """
        key = (kernel, *sorted(defines.items()))
        function = self._kernels.get(key)
        with self._errors(f"launching {kernel}{list(grid)}{list(block)}"):
            if function is None:
                path = self._find_cubin(kernel, defines, self.limits.arch)
                function = self._cp.RawModule(path=str(path)).get_function(kernel)
                self._kernels[key] = function
            if shared_mem > function.max_dynamic_shared_size_bytes:
                function.max_dynamic_shared_size_bytes = shared_mem
            function(grid, block, arguments, shared_mem=shared_mem)

    def finish(self) -> None:
        """Waits for all work on the current stream."""
        with self._errors("finishing its work"):
            self._cp.cuda.get_current_stream().synchronize()

    # ---- memory ----

    def free_memory(self) -> int:
        """Bytes that could be allocated now."""
        with self._errors("counting its memory"):
            unused = self._cp.get_default_memory_pool().free_bytes()
            return int(self._cp.cuda.runtime.memGetInfo()[0] + unused)

    def release_memory(self) -> None:
        """Returns unused memory of CuPy's pool to the GPU, for others to take."""
        with self._errors("releasing memory"):
            self._cp.get_default_memory_pool().free_all_blocks()
