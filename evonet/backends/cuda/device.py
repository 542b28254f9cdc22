"""The seam to CuPy: nothing else in the package touches CuPy's arrays, streams or modules.

A `Device` is one GPU. It speaks of NumPy arrays on the host's side and of opaque
arrays on its own, and turns every failure into a `DeviceError`. Work goes to CuPy's
current stream, so it is in order with what the caller does on that stream.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.compiler import cubin
from evonet.backends.cuda.plan import DeviceLimits
from evonet.errors import DeviceError, DeviceMemoryError

DeviceArray: TypeAlias = Any
"""A cupy.ndarray; CuPy has no types to name."""

_OUT_OF_MEMORY = 2  # cudaErrorMemoryAllocation and CUDA_ERROR_OUT_OF_MEMORY


class Device:
    """One GPU.

    Attributes:
        index: CUDA's number of it.
        name: What its maker calls it.
        memory: Bytes of it.
        limits: What the cost model needs to know.
    """

    def __init__(self, cupy: Any, index: int) -> None:
        """Looks up what a GPU can do.

        Raises:
            DeviceError: CUDA refuses to say.
        """
        self._cp = cupy
        self.index = index
        self.name = f"GPU {index}"
        self._kernels: dict[tuple[object, ...], Any] = {}
        with self.at_work("asking for its properties"):
            found = cupy.cuda.runtime.getDeviceProperties(index)
        self.name = found["name"].decode(errors="replace")
        self.memory = int(found["totalGlobalMem"])
        self.limits = DeviceLimits(
            arch=f"sm_{found['major']}{found['minor']}",
            num_sms=int(found["multiProcessorCount"]),
            shared_per_block_optin=int(found["sharedMemPerBlockOptin"]),
            shared_per_sm=int(found["sharedMemPerMultiprocessor"]),
            max_threads_per_sm=int(found["maxThreadsPerMultiProcessor"]),
            registers_per_sm=int(found["regsPerMultiprocessor"]),
        )

    @contextlib.contextmanager
    def at_work(self, doing: str) -> Iterator[None]:
        """Makes this the current GPU, and turns CUDA's errors into evonet's.

        Args:
            doing: What goes on, for the message.

        Raises:
            DeviceMemoryError: There is not enough memory.
            DeviceError: Anything else that CUDA reports.
        """
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
        """Takes memory, whatever is in it.

        Raises:
            DeviceMemoryError: There is not enough.
        """
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        with self.at_work(f"allocating {nbytes:,} bytes"):
            return self._cp.empty(tuple(shape), dtype)

    def upload(self, array: npt.NDArray[Any]) -> DeviceArray:
        """Copies a C-contiguous host array here; it may change afterwards.

        Raises:
            DeviceMemoryError: There is not enough memory.
        """
        with self.at_work(f"taking {array.nbytes:,} bytes from the host"):
            return self._cp.asarray(array)

    def download(self, array: DeviceArray, out: npt.NDArray[Any]) -> None:
        """Copies an array of this GPU to a C-contiguous host array, after all work before it.

        Raises:
            DeviceError: Work before it has failed.
        """
        with self.at_work(f"giving {out.nbytes:,} bytes to the host"):
            array.get(out=out)

    def bring(self, array: DeviceArray) -> DeviceArray:
        """Copies a C-contiguous array of another GPU here; one of this GPU stays as it is.

        Raises:
            DeviceMemoryError: There is not enough memory.
        """
        if array.device.id == self.index:
            return array
        copy = self.empty(array.shape, array.dtype)
        self.copy(array, copy)
        return copy

    def copy(self, source: DeviceArray, target: DeviceArray) -> None:
        """Copies between C-contiguous arrays of equal size, each on any GPU.

        Raises:
            DeviceError: CUDA cannot.
        """
        with self.at_work(f"copying {source.nbytes:,} bytes between GPUs"):
            self._cp.cuda.runtime.memcpyPeer(
                target.data.ptr, target.device.id, source.data.ptr, source.device.id, source.nbytes
            )

    def adopt(self, x: object) -> DeviceArray:
        """Sees somebody's device array as CuPy's, without a copy.

        Args:
            x: Anything with `__dlpack__` or `__cuda_array_interface__`.

        Raises:
            TypeError, ValueError, BufferError: It cannot be seen so, says CuPy or its owner.
            DeviceError: CUDA failed.
        """
        if isinstance(x, self._cp.ndarray):
            return x
        with self.at_work("adopting an array"):
            if hasattr(x, "__dlpack__"):
                return self._cp.from_dlpack(x)
            return self._cp.asarray(x)

    # ---- kernels ----

    def launch(
        self,
        kernel: str,
        defines: Mapping[str, int | str],
        grid: tuple[int, ...],
        block: tuple[int, ...],
        arguments: tuple[Any, ...],
        shared_mem: int = 0,
    ) -> None:
        """Starts a kernel; it is compiled and loaded when it is first used.

        Args:
            kernel: A file of kernels/ without its ending, and the entry point in it.
            defines: Macros for the compiler.
            grid: Blocks; none of them 0.
            block: Threads of a block.
            arguments: Arrays of this GPU and NumPy scalars, as the kernel declares them.
            shared_mem: Bytes of dynamic shared memory.

        Raises:
            BackendError: The kernel does not compile.
            DeviceError: It cannot be loaded or started.
        """
        key = (kernel, *sorted(defines.items()))
        function = self._kernels.get(key)
        with self.at_work(f"launching {kernel}{list(grid)}{list(block)}"):
            if function is None:
                path = cubin(kernel, defines, self.limits.arch)
                function = self._cp.RawModule(path=str(path)).get_function(kernel)
                self._kernels[key] = function
            if shared_mem > function.max_dynamic_shared_size_bytes:
                function.max_dynamic_shared_size_bytes = shared_mem
            function(grid, block, arguments, shared_mem=shared_mem)

    def finish(self) -> None:
        """Waits for all work on the current stream.

        Raises:
            DeviceError: Some of it has failed.
        """
        with self.at_work("finishing its work"):
            self._cp.cuda.get_current_stream().synchronize()

    # ---- memory ----

    def free_memory(self) -> int:
        """Bytes that could be allocated now."""
        with self.at_work("counting its memory"):
            unused = self._cp.get_default_memory_pool().free_bytes()
            return int(self._cp.cuda.runtime.memGetInfo()[0] + unused)

    def release_memory(self) -> None:
        """Gives memory that nobody uses back to the GPU, for others to take."""
        with self.at_work("releasing memory"):
            self._cp.get_default_memory_pool().free_all_blocks()
