"""Takes memory away from GPUs for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from evonet.backends.cuda.discovery import usable_devices


@contextmanager
def little_memory(nbytes: int) -> Iterator[None]:
    """Leaves so many bytes of CuPy's pool on every GPU; each gets its own limit back."""
    import cupy

    pool = cupy.get_default_memory_pool()
    with ExitStack() as afterwards:
        for device in usable_devices():
            with cupy.cuda.Device(device.index):
                pool.free_all_blocks()
                afterwards.callback(_set_limit, device.index, pool.get_limit())
                pool.set_limit(pool.total_bytes() + nbytes)
        yield


def _set_limit(index: int, limit: int) -> None:
    import cupy

    with cupy.cuda.Device(index):
        cupy.get_default_memory_pool().set_limit(limit)
