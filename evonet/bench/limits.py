"""The machine and its measured limits: multiply-adds, and bytes from cache and memory."""

from __future__ import annotations

import os
import platform
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from evonet import __version__
from evonet.backends.cpu import CpuBackend
from evonet.installation import require_native

# Fits every first-level cache; so many turns that starting threads takes no noticeable time.
L1_BYTES: Final = 16 << 10
L1_TURNS: Final = 100_000
# For all threads together; larger than the largest cache of most processors.
MEMORY_BYTES: Final = 512 << 20
ROUNDS: Final = 3
# Each limit's short name, description and unit.
LIMITS: Final = {
    "fma": ("FMA peak", "multiply-adds in registers, float32", "1/s"),
    "l1": ("L1", "reading from the first-level caches", "B/s"),
    "memory": ("memory", "reading from memory", "B/s"),
}


@dataclass(frozen=True)
class Machine:
    """What ran the benchmark, with versions."""

    processor: str
    threads: int  # that evonet used
    simd: str  # the instruction set that evonet used
    system: str
    python: str
    numpy: str
    evonet: str


def describe_machine(threads: int) -> Machine:
    """Describes this machine."""
    require_native()
    return Machine(
        processor=_processor(),
        threads=threads,
        simd=CpuBackend().simd_level(),
        system=f"{platform.system()} {platform.release().split('-')[0]}",
        python=platform.python_version(),
        numpy=np.__version__,
        evonet=__version__,
    )


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@dataclass
class Limits:
    """The most that all threads together can do per second; measurements add up."""

    fma: list[float] = field(default_factory=list)  # float32 multiply-adds in registers
    l1: list[float] = field(default_factory=list)  # bytes read from the first-level caches
    memory: list[float] = field(default_factory=list)  # bytes read from memory

    def measure(self, threads: int, memory_bytes: int = MEMORY_BYTES) -> None:
        """Measures all of them once more, in a fraction of a second."""
        native, simd = require_native(), CpuBackend().simd_level()
        size = min(memory_bytes, _memory() // 4) // threads
        self.fma += [native.fma_peak(simd, threads) for _ in range(ROUNDS)]
        self.l1 += native.read_bandwidth(simd, threads, L1_BYTES, L1_TURNS, ROUNDS)
        self.memory += native.read_bandwidth(simd, threads, size, 1, ROUNDS)

    def best(self) -> dict[str, float]:
        """The highest rate of each."""
        return {name: max(rates) for name, rates in vars(self).items()}

    def median(self) -> dict[str, float]:
        """The median rate of each."""
        return {name: statistics.median(rates) for name, rates in vars(self).items()}


def _memory() -> int:
    """This machine's memory in bytes; a modest guess where the system does not report it."""
    if sys.platform == "win32" or "SC_PHYS_PAGES" not in os.sysconf_names:
        return 4 << 30
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
