"""What a GPU allows of a launch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .errors import LaunchError

MAX_THREADS = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
DEFAULT_SHARED = 48 << 10  # bytes, without asking
MAX_SHARED = 227 << 10  # bytes, of the largest GPUs, after asking
MAX_PARAMETERS = 4096  # bytes
MAX_SHUFFLED = 2**24  # blocks; a limit of the runner, not of a GPU

Dim3 = tuple[int, int, int]


def as_dim3(what: str, value: Sequence[int], limits: Dim3) -> Dim3:
    """Completes a grid or block to three dimensions.

    Raises:
        LaunchError: Not one to three integers, or outside of the limits.
    """
    if not isinstance(value, tuple | list) or not 1 <= len(value) <= 3:
        raise LaunchError(f"{what} is {value!r}; give a tuple of 1 to 3 integers")
    x, y, z = (int(n) for n in (*value, 1, 1)[:3])
    for axis, n, limit in zip("xyz", (x, y, z), limits, strict=True):
        if not 1 <= n <= limit:
            raise LaunchError(
                f"{what} {(x, y, z)}: {axis} is {n}, allowed is 1 to {limit}"
                + (". Skip the launch when there is nothing to do" if n == 0 else "")
            )
    return x, y, z


def check_threads(kernel: str, block: Dim3, launch_bound: int) -> None:
    """Raises LaunchError if a block has more threads than the kernel may have."""
    threads = math.prod(block)
    if threads > MAX_THREADS:
        raise LaunchError(
            f"{kernel}: block {block} has {threads} threads, allowed are {MAX_THREADS}"
        )
    if launch_bound and threads > launch_bound:
        raise LaunchError(
            f"{kernel}: block {block} has {threads} threads; "
            f"its __launch_bounds__ promises at most {launch_bound}"
        )


def check_shared(kernel: str, static: int, dynamic: int, raised_to: int | None) -> None:
    """Raises LaunchError if a block needs more shared memory than it gets."""
    if dynamic < 0:
        raise LaunchError(f"{kernel}: shared_mem is {dynamic}, less than 0")
    allowed = DEFAULT_SHARED if raised_to is None else static + raised_to
    if static + dynamic > allowed:
        raise LaunchError(
            f"{kernel}: {static} bytes of static and {dynamic} of dynamic shared memory exceed "
            f"{allowed}. Set kernel.max_dynamic_shared_size_bytes to at least {dynamic} "
            f"(static and dynamic together: at most {MAX_SHARED})"
        )
