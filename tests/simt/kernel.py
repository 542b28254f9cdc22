"""A kernel: CuPy's RawKernel, on the CPU."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import limits
from .abi import RawRegion, RawRequest
from .arena import Arena
from .errors import KernelFault, LaunchError
from .parameters import Parameter, check_arguments, is_null, value_bytes

if TYPE_CHECKING:
    from .module import Module

Order = Literal["forward", "reverse", "random"]
ORDERS = {"forward": 0, "reverse": 1, "random": 2}


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
        last_blocks: int | None = None,
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
            timeout: Seconds of CPU time after which a launch counts as an endless loop.
            last_blocks: Runs only so many blocks, the last of the grid; None for all. So the end
                of a launch can be tested that would take hours as a whole.

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
        num_blocks = math.prod(grid3) if last_blocks is None else last_blocks
        if not 1 <= num_blocks <= math.prod(grid3):
            raise LaunchError(f"last_blocks is {last_blocks}; the grid has {math.prod(grid3)}")
        if order == "random" and num_blocks > limits.MAX_SHUFFLED:
            raise LaunchError(f"grid {grid3} has too many blocks to shuffle; use another order")
        if workers < 1 or timeout <= 0:
            raise LaunchError(f"workers is {workers} and timeout {timeout}; both must be positive")

        arrays = {i: arg for i, arg in enumerate(args) if isinstance(arg, np.ndarray)}
        request = RawRequest(
            entry=self._entry,
            grid=grid3,
            block=block3,
            dynamic_shared=shared_mem,
            seed=seed % 2**64,
            timeout=timeout,
            order=ORDERS[order],
            num_workers=workers,
            first_block=math.prod(grid3) - num_blocks,
            num_blocks=num_blocks,
        )
        arena = None
        addresses = {i: array.ctypes.data for i, array in arrays.items()}
        if self._module.mode == "checked":
            arena = Arena(self.parameters, arrays)
            addresses = arena.addresses
            regions = self._module.checked_regions(self.name, arena)
            request.regions = (RawRegion * len(regions))(*regions)
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
