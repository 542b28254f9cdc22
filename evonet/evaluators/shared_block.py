"""Arrays in memory that several processes see, by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing import shared_memory
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from evonet.evaluators.packing import Arrays

# Arrays start at multiples of this, so that none shares a cache line with another.
ALIGNMENT: Final = 64
# A block grows to so many times what is needed, since the next generation may need more.
GROWTH: Final = 1.5
LEAST_BYTES: Final = 1 << 16


class Place(NamedTuple):
    """Where an array is in a block."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int


class Layout(NamedTuple):
    """Where all arrays are in a block, and how long it has to be."""

    places: tuple[Place, ...]
    size: int


def lay_out(arrays: Mapping[str, npt.NDArray[Any]]) -> Layout:
    """Plans where arrays go, one after the other."""
    places, offset = [], 0
    for name, array in arrays.items():
        places.append(Place(name, array.dtype.str, array.shape, offset))
        offset += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    return Layout(tuple(places), offset)


class SharedBlock:
    """A block that this process made; it grows by becoming another one."""

    def __init__(self) -> None:
        """Takes no memory yet."""
        self._memory: shared_memory.SharedMemory | None = None

    @property
    def name(self) -> str:
        """The name by which other processes find it; "" before it is first needed."""
        return "" if self._memory is None else self._memory.name

    @property
    def size(self) -> int:
        """Its bytes."""
        return 0 if self._memory is None else self._memory.size

    def reserve(self, size: int) -> None:
        """Makes sure that the block has at least so many bytes; what was in it may be lost."""
        if size <= self.size and self._memory is not None:
            return
        self.close()
        self._memory = shared_memory.SharedMemory(
            create=True, size=max(LEAST_BYTES, math.ceil(size * GROWTH))
        )

    def write(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Layout:
        """Copies arrays into the block."""
        layout = lay_out(arrays)
        self.reserve(layout.size)
        assert self._memory is not None
        write_arrays(self._memory, layout, arrays)
        return layout

    def read(self, layout: Layout) -> Arrays:
        """Copies arrays out of the block."""
        assert self._memory is not None
        return {name: np.array(view) for name, view in view_arrays(self._memory, layout).items()}

    def close(self) -> None:
        """Gives the memory back; processes that still see it keep it for themselves."""
        if self._memory is not None:
            memory, self._memory = self._memory, None
            memory.close()
            with suppress(FileNotFoundError):  # somebody has tidied up already
                memory.unlink()


def attach(name: str) -> shared_memory.SharedMemory:
    """Opens a block that another process made, and leaves removing it to that process."""
    # Opening registers the block for removal too; worker processes share the driver's tracker,
    # which lists each name once, so that there is nothing to take back.
    return shared_memory.SharedMemory(name)


def write_arrays(
    memory: shared_memory.SharedMemory, layout: Layout, arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Copies arrays to where a layout puts them."""
    for name, view in view_arrays(memory, layout).items():
        view[...] = arrays[name]


def view_arrays(memory: shared_memory.SharedMemory, layout: Layout) -> Arrays:
    """Arrays that are in a block; all of them must be gone before the block is closed."""
    return {
        place.name: np.ndarray(place.shape, place.dtype, memory.buf, place.offset)
        for place in layout.places
    }
