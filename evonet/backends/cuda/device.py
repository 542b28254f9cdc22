"""The seam to CuPy: no other module touches it, so that tests can replace it as a whole.

`Device` is one GPU. It takes NumPy arrays on the host's side and opaque arrays on its own, and
turns every failure into a `DeviceError`. Work goes to CuPy's current stream, so it is in order with
what the caller does on that stream. Functions beside it count GPUs. `nvrtc` is the other half of
the seam, which needs no GPU.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import importlib
import math
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.limits import DeviceLimits
from evonet.backends.cuda.nvrtc import Defines
from evonet.backends.cuda.resident import Resident
from evonet.backends.cuda.staging import Packer, Staging
from evonet.errors import DeviceError, DeviceMemoryError

if TYPE_CHECKING:
    from evonet.backends.cuda.launch import Launch, LaunchPlan
    from evonet.backends.cuda.layout import Arrays

DeviceArray: TypeAlias = Any
"""A cupy.ndarray; CuPy has no types to name."""

Graph: TypeAlias = Any
"""Launches that were captured together."""

StreamKey: TypeAlias = tuple[int, int]
"""Identifies a stream of a GPU: CUDA's number, and the thread if every thread has its own."""

SORT_COUNTS = 4 << 20  # bytes: what a radix sort counts, and rounding of blocks

_OUT_OF_MEMORY = 2  # cudaErrorMemoryAllocation and CUDA_ERROR_OUT_OF_MEMORY
_PER_THREAD_STREAM = 2  # cudaStreamPerThread: one number, but another stream for every thread


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


# ---- GPUs ----


class Moment(NamedTuple):
    """A point in the work of a stream, for others to wait for."""

    stream: StreamKey
    event: Any
    owner: Any  # the stream itself: CUDA gives the number of a deleted one to the next


class PinnedBuffer(NamedTuple):
    """Page-locked memory of the host."""

    numbers: npt.NDArray[np.uint8]
    memory: Any  # owns it: as long as this lives, the numbers may be used


def device_index(array: DeviceArray) -> int:
    """CUDA's number of the GPU that holds an array."""
    return int(array.device.id)


@dataclasses.dataclass
class _Kernel:
    """A kernel on one GPU."""

    function: Any
    most_shared_mem: int  # bytes of dynamic shared memory that a launch may ask for


class _Guard:
    """Makes a GPU the current one for a while; a class, because every call enters several."""

    __slots__ = ("_before", "_device", "_doing", "_nbytes", "_runtime")

    def __init__(self, device: Device, doing: str, nbytes: int) -> None:
        self._device = device
        self._doing = doing
        self._nbytes = nbytes

    def __enter__(self) -> None:
        self._runtime = runtime = self._device.runtime
        try:
            self._before = runtime.getDevice()
            if self._before != self._device.index:
                runtime.setDevice(self._device.index)
        except Exception as error:
            self._raise(error)
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._before != self._device.index:
            # It fails if another process has that GPU for itself; then nobody here can use it.
            with contextlib.suppress(self._runtime.CUDARuntimeError):
                self._runtime.setDevice(self._before)
        if error is not None:
            self._raise(error)

    def _raise(self, error: BaseException) -> None:
        """Raises evonet's error instead of CuPy's."""
        doing = self._doing.replace("{}", f"{self._nbytes:,}")
        found = self._device.translate(error, doing)
        if found is None:
            return
        try:
            raise found from error
        finally:
            del found, error  # a cycle of an error and its frame would keep arrays alive


class Device:
    """One GPU; `index` is CUDA's number of it.

    Every method raises a `DeviceError` if CUDA fails, and a `DeviceMemoryError` if there is not
    enough memory for what it allocates.
    """

    def __init__(self, index: int, find_cubin: Callable[[str, Defines, str], bytes]) -> None:
        """Looks up what a GPU can do; `find_cubin` is `compiler.cubin`."""
        self._cp = _import_cupy()
        self.runtime = self._cp.cuda.runtime
        self._find_cubin = find_cubin
        self._kernels: dict[tuple[object, ...], _Kernel] = {}
        self._staging = Staging(self)
        self._lasting: dict[int, Resident] = {}  # of host arrays that cannot change, by id
        self._second: Any = None  # a stream, once it is needed
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
            reported_blocks_per_sm=int(found["maxBlocksPerMultiProcessor"]),
        )

    @contextlib.contextmanager
    def _current(self, index: int) -> Iterator[None]:
        """Makes a GPU the current one of this thread for a while."""
        runtime = self._cp.cuda.runtime
        before = runtime.getDevice()
        if before == index:
            yield
            return
        runtime.setDevice(index)
        try:
            yield
        finally:
            # It fails if another process has that GPU for itself; then nobody here can use it.
            with contextlib.suppress(runtime.CUDARuntimeError):
                runtime.setDevice(before)

    def _errors(self, doing: str, nbytes: int = 0) -> _Guard:
        """Makes this the current GPU, and turns CUDA's errors into evonet's.

        `doing` completes a message; `{}` in it stands for `nbytes`.
        """
        return _Guard(self, doing, nbytes)

    def translate(self, error: BaseException, doing: str) -> DeviceError | None:
        """Evonet's error for one of CuPy's; None for all others."""
        cp = self._cp
        if isinstance(error, cp.cuda.memory.OutOfMemoryError):
            return DeviceMemoryError(self._fault(doing, error))
        if isinstance(error, (cp.cuda.runtime.CUDARuntimeError, cp.cuda.driver.CUDADriverError)):
            kind = DeviceMemoryError if error.status == _OUT_OF_MEMORY else DeviceError
            return kind(self._fault(doing, error))
        return None

    def _fault(self, doing: str, error: BaseException) -> str:
        return (
            f"GPU {self.index} ({self.name}) failed while {doing}: {error} "
            "`python -m evonet.doctor --verify-gpu` tests this GPU."
        )

    # ---- arrays ----

    def empty(self, shape: Sequence[int], dtype: npt.DTypeLike) -> DeviceArray:
        """Allocates an array of undefined content."""
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        with self._errors("allocating {} bytes", nbytes):
            return self._cp.empty(tuple(shape), dtype)

    def empty_beside(
        self, genes: Resident, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> tuple[DeviceArray, bool]:
        """Allocates an array, and lets the current stream wait for the genes that fill it.

        Returns:
            The array, and whether the stream is the genes' own, which needs no note of reads.
        """
        with _Guard(self, "allocating {} bytes", math.prod(shape) * dtype.itemsize):
            array = self._cp.empty(shape, dtype)
            is_at_home = genes.is_at_home(self._stream_key())
            if not is_at_home:
                genes.wait()
            return array, is_at_home

    def holds(self, array: npt.NDArray[Any] | DeviceArray) -> bool:
        """Whether an array is in this GPU's memory."""
        return not isinstance(array, np.ndarray) and device_index(array) == self.index

    def upload(self, array: npt.NDArray[Any]) -> DeviceArray:
        """Copies a C-contiguous host array here; it may change afterwards.

        The copy is queued on the current stream: others must wait for a `Moment` after it.
        """
        with self._errors("copying {} bytes from the host", array.nbytes):
            target = self._cp.empty(array.shape, array.dtype)
            if array.nbytes:
                self._staging.send(array, target)
            return target

    def upload_packed(
        self, packer: Packer, num_genomes: int, shapes: Arrays
    ) -> dict[str, DeviceArray]:
        """Packs genomes on their way here; returns arrays of these shapes and types by name."""
        targets = {name: self.empty(shape, dtype) for name, (shape, dtype) in shapes.items()}
        self._staging.send_packed(packer, num_genomes, targets)
        return targets

    def lasting(self, array: npt.NDArray[Any]) -> Resident | None:
        """A host array that cannot change, copied here once; None for one that may change.

        The copy lives as long as the host array, unless memory runs short.
        """
        if array.flags.writeable or not array.flags.owndata:
            return None
        key = id(array)
        found = self._lasting.get(key)
        if found is None:
            found = Resident(self, {"": self.upload(array)})
            self._lasting[key] = found
            weakref.finalize(array, self._lasting.pop, key, None)
        found.wait()
        return found

    def copy_from_host(self, numbers: npt.NDArray[Any], target: DeviceArray, offset: int) -> None:
        """Queues a copy of host memory to a place in an array, `offset` bytes from its start.

        The GPU may read page-locked memory at any time until then.
        """
        with self._errors("copying {} bytes from the host", numbers.nbytes):
            stream = self._cp.cuda.get_current_stream()
            runtime = self._cp.cuda.runtime
            runtime.memcpyAsync(
                target.data.ptr + offset,
                numbers.ctypes.data,
                numbers.nbytes,
                runtime.memcpyHostToDevice,
                stream.ptr,
            )

    def pin(self, nbytes: int) -> PinnedBuffer:
        """Allocates page-locked memory of the host, of undefined content."""
        with self._errors("allocating {} bytes of page-locked host memory", nbytes):
            memory = self._cp.cuda.PinnedMemory(nbytes)
        buffer = memoryview((ctypes.c_uint8 * nbytes).from_address(memory.ptr))
        return PinnedBuffer(np.frombuffer(buffer, np.uint8), memory)

    def download(self, array: DeviceArray, out: npt.NDArray[Any]) -> None:
        """Copies an array to a C-contiguous host array, after all work before it."""
        with self._errors("copying {} bytes to the host", out.nbytes):
            array.get(out=out)

    def copy(self, source: DeviceArray, target: DeviceArray) -> None:
        """Copies between C-contiguous arrays of equal size, each on any GPU.

        The current streams of both GPUs wait for each other.
        """
        cuda = self._cp.cuda
        with self._errors("copying {} bytes between GPUs", source.nbytes):
            others = {device_index(source), device_index(target)} - {self.index}
            stream = cuda.get_current_stream()
            for index in others:
                with self._current(index):  # an event belongs to one GPU, and so does stream 0
                    ready = self._record()
                stream.wait_event(ready)
            cuda.runtime.memcpyPeerAsync(
                target.data.ptr,
                target.device.id,
                source.data.ptr,
                source.device.id,
                source.nbytes,
                stream.ptr,
            )
            done = self._record()
            for index in others:
                with self._current(index):
                    cuda.get_current_stream().wait_event(done)

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

    def argsort(self, keys: DeviceArray) -> DeviceArray:
        """Returns the order, [N] int64, in which keys ascend; equal keys stay as they are.

        Args:
            keys: [N] whole numbers, at least one.
        """
        count = keys.shape[0]
        # CuPy copies the keys and makes the order; the sort takes as much again, and some counts.
        nbytes = 2 * (keys.nbytes + 8 * count) + SORT_COUNTS
        with self._errors("sorting, with {} bytes", nbytes):
            # The sort does not survive an allocation of its own that fails. So the pool gets a
            # block that has room for all of them, which goes to the next work of this stream.
            room = self._cp.empty((nbytes,), np.uint8)
            del room
            return self._cp.argsort(keys)

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
        with self._errors(f"launching {kernel}{list(grid)}{list(block)}"):
            function = self._prepare(kernel, defines, shared_mem)
            function(grid, block, arguments, shared_mem=shared_mem)

    def prepare(self, plan: LaunchPlan) -> Callable[[tuple[Any, ...]], None]:
        """Loads a plan's kernel, for repeated launches that differ only in their arguments."""
        doing = f"launching {plan.kernel}{list(plan.grid)}{list(plan.block)}"
        with self._errors(doing):
            function = self._prepare(plan.kernel, plan.defines, plan.shared_mem)
        grid, block, shared_mem = plan.grid, plan.block, plan.shared_mem

        def launch(arguments: tuple[Any, ...]) -> None:
            with _Guard(self, doing, 0):
                function(grid, block, arguments, shared_mem=shared_mem)

        return launch

    def _prepare(self, kernel: str, defines: Defines, shared_mem: int) -> Any:
        """Finds a kernel that may have so much shared memory."""
        key = (kernel, *sorted(defines.items()))
        found = self._kernels.get(key)
        if found is None:
            found = self._load(kernel, self._find_cubin(kernel, defines, self.limits.arch))
            self._kernels[key] = found
        function = found.function
        if shared_mem > found.most_shared_mem:
            driver = self._cp.cuda.driver
            attribute = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            driver.funcSetAttribute(function.ptr, attribute, shared_mem)
            found.most_shared_mem = shared_mem
        return function

    def _load(self, kernel: str, image: bytes) -> _Kernel:
        driver = self._cp.cuda.driver
        module = self._cp.cuda.Module()
        module.load(image)
        function = module.get_function(kernel)
        attribute = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        return _Kernel(function, driver.funcGetAttribute(attribute, function.ptr))

    # ---- graphs ----

    def capture(self, launches: Iterable[Launch]) -> Graph:
        """Makes a graph of launches that follow each other; none of them runs.

        The arrays among their arguments must live as long as the graph is used.
        """
        with self._errors("capturing launches"):
            # Kernels are loaded before, which CUDA may refuse to do in a capture.
            ready = [(self._prepare(n.kernel, n.defines, n.shared_mem), n) for n in launches]
            stream = self._cp.cuda.Stream(non_blocking=True)  # a default stream cannot be captured
            with stream:
                stream.begin_capture()
                try:
                    for function, launch in ready:
                        function(
                            launch.grid,
                            launch.block,
                            launch.arguments,
                            shared_mem=launch.shared_mem,
                        )
                finally:
                    graph = stream.end_capture()
            return graph

    def replay(self, graph: Graph) -> None:
        """Queues all launches of a graph on the current stream."""
        with self._errors("launching a graph"):
            graph.launch()

    # ---- streams ----

    def stream(self) -> StreamKey:
        """Identifies the current stream, as long as somebody holds a `Moment` of it."""
        with self._errors("asking for its stream"):
            return self._stream_key()

    def record(self) -> Moment:
        """Marks the end of all work that the current stream has so far."""
        with self._errors("recording an event"):
            return Moment(self._stream_key(), self._record(), self._cp.cuda.get_current_stream())

    def wait_for(self, moment: Moment) -> None:
        """Lets the current stream wait for a moment of another stream."""
        with self._errors("waiting for another stream"):
            if moment.stream != self._stream_key():
                self._cp.cuda.get_current_stream().wait_event(moment.event)

    def wait_on_host(self, moment: Moment) -> None:
        """Waits until the work before a moment is done."""
        event = moment.event
        with self._errors("waiting for a stream"):
            event.synchronize()

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Makes a second stream the current one, for work that may overlap that of the first."""
        with self._errors("using a second stream"):
            if self._second is None:
                self._second = self._cp.cuda.Stream(non_blocking=True)
            with self._second:
                yield

    def finish(self) -> None:
        """Waits for all work on the current stream."""
        with self._errors("finishing its work"):
            self._cp.cuda.get_current_stream().synchronize()

    def _stream_key(self) -> StreamKey:
        stream = self._cp.cuda.get_current_stream()
        number = int(stream.ptr)
        return number, threading.get_ident() if number == _PER_THREAD_STREAM else 0

    def _record(self) -> Any:
        event = self._cp.cuda.Event(disable_timing=True)
        event.record()
        return event

    # ---- memory ----

    def free_memory(self) -> int:
        """Bytes that could be allocated now."""
        with self._errors("counting its memory"):
            unused = self._cp.get_default_memory_pool().free_bytes()
            return int(self._cp.cuda.runtime.memGetInfo()[0] + unused)

    def release_memory(self) -> None:
        """Returns unused memory of CuPy's pool to the GPU, and page-locked memory to the host."""
        self._staging.release()
        self._lasting.clear()
        with self._errors("releasing memory"):
            self._cp.get_default_memory_pool().free_all_blocks()
