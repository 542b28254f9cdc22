"""Prints how fast the runner is: cd tests && python -m simt.measure."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tests.simt.samples import MODES, launch


def seconds(*launched: Any, repeats: int = 5) -> float:
    """Returns the least CPU time of several launches."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        launch(*launched)
        times.append(time.process_time() - begin)
    return min(times)


def main() -> None:
    """Measures threads per second, and the cost of barriers and of shuffles."""
    for mode in MODES:
        n = 4_000_000 if mode == "plain" else 100_000
        x, y = np.zeros(n, np.float32), np.zeros(n, np.float32)
        saxpy = (np.int32(n), np.float32(2), x, y)
        rate = n / seconds("memory.saxpy", mode, (n // 256,), (256,), *saxpy)
        print(f"{mode}: {rate / 1e6:.1f} million threads per second without barriers")

        count = 2000
        for block in (32, 256, 1024):
            many = (np.int32(count), np.zeros(block, np.int32))
            cost = seconds("barriers.many_barriers", mode, (1,), (block,), *many) / count / block
            print(f"{mode}: {cost * 1e9:.0f} ns per thread and barrier in blocks of {block}")

        blocks, shuffles = n // 1000, 5
        threads = blocks * 256
        x, y = np.zeros(threads, np.float32), np.zeros(threads, np.float32)
        cost = seconds("warps.warp_sum", mode, (blocks,), (256,), x, y) / threads / shuffles
        print(f"{mode}: {cost * 1e9:.0f} ns per thread and shuffle")


if __name__ == "__main__":
    main()
