"""Copies of a launch's arrays with wide gaps between them, for checked mode.

Side by side in memory, the end of one array is the begin of another, and running over it looks
right. With a gap around each, it does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .parameters import Parameter

ALIGNMENT = 512  # of what CuPy allocates
GAP = 4 << 20  # bytes; untouched pages cost nothing


@dataclass
class Region:
    """Memory that a kernel may touch: one array, or several that overlap."""

    name: str
    address: int
    size: int
    element: int
    writable: bool


class Arena:
    """Copies of arrays; what the kernel wrote is copied back by copy_back()."""

    def __init__(self, parameters: list[Parameter], arrays: dict[int, np.ndarray]) -> None:
        """Copies arrays, given by the place of the parameter."""
        self.regions: list[Region] = []
        self.addresses: dict[int, int] = {}
        self._back: list[tuple[np.ndarray, int]] = []
        groups = _overlapping(arrays)
        total = ALIGNMENT + GAP
        for group in groups:
            total += _extent(group, arrays)[1] + 2 * ALIGNMENT + GAP
        self.memory = np.empty(total, np.uint8)
        self.base = self.memory.ctypes.data
        cursor = self.base + GAP
        for group in groups:
            begin, size = _extent(group, arrays)
            place = -(-cursor // ALIGNMENT) * ALIGNMENT + _misalignment(arrays[group[0]], begin)
            for i in group:
                self.addresses[i] = place + arrays[i].ctypes.data - begin
                self._view(self.addresses[i], arrays[i])[...] = arrays[i].reshape(-1).view(np.uint8)
                if not parameters[i].is_const:
                    self._back.append((arrays[i], self.addresses[i]))
            self.regions.append(
                Region(
                    name="|".join(parameters[i].name for i in group),
                    address=place,
                    size=size,
                    element=min(arrays[i].itemsize for i in group),
                    writable=any(not parameters[i].is_const for i in group),
                )
            )
            cursor = place + size + GAP

    def copy_back(self) -> None:
        """Copies what may have been written to the arrays that were given."""
        for array, address in self._back:
            array.reshape(-1).view(np.uint8)[...] = self._view(address, array)

    def _view(self, address: int, array: np.ndarray) -> np.ndarray:
        start = address - self.base
        return self.memory[start : start + array.nbytes]


def _overlapping(arrays: dict[int, np.ndarray]) -> list[list[int]]:
    """Groups arrays that share memory; a group starts with its lowest address."""
    groups: list[list[int]] = []
    end = -1
    for i in sorted(arrays, key=lambda i: (arrays[i].ctypes.data, -arrays[i].nbytes)):
        begin = arrays[i].ctypes.data
        if groups and begin < end:
            groups[-1].append(i)
        else:
            groups.append([i])
        end = max(end, begin + arrays[i].nbytes)
    return groups


def _extent(group: list[int], arrays: dict[int, np.ndarray]) -> tuple[int, int]:
    begin = arrays[group[0]].ctypes.data
    return begin, max(arrays[i].ctypes.data + arrays[i].nbytes for i in group) - begin


def _misalignment(array: np.ndarray, begin: int) -> int:
    """Returns how far a view starts within its owner: on a GPU it would be as far from aligned."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return (begin - owner.ctypes.data) % ALIGNMENT
