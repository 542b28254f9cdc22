"""Prefix sums on a GPU, by `kernels/cuda/scan_tiles.cu` and `scan_join.cu`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray

THREADS: Final = 256  # of a block, here and in most kernels of genetics
TILE: Final = 2048  # numbers that a block adds up
NOTHING: Final = np.intp(0)  # a null pointer


def blocks_for(count: int, threads: int = THREADS) -> tuple[int]:
    """The grid of a kernel with a thread for each of `count` things, at least one."""
    return (-(-count // threads),)


def fill(device: Device, array: DeviceArray, word: int) -> None:
    """Sets all 32-bit words of an array that is not empty."""
    count = array.nbytes // 4
    arguments = np.int64(count), np.uint32(word), array
    device.launch("fill_words", {}, blocks_for(count), (THREADS,), arguments)


def prefix_sums(
    device: Device,
    numbers: DeviceArray,
    rows: int,
    grand: DeviceArray,
    largest: DeviceArray | None = None,
) -> DeviceArray:
    """Adds up rows of whole numbers that are not negative.

    Args:
        device: The GPU.
        numbers: [rows * C] int32, at least one in a row.
        rows: How many rows there are.
        grand: [rows] int64, becomes the sum of each row.
        largest: [rows] int64, rises to the largest number of each row; None if nobody asks.

    Returns:
        [rows * (C + 1)] int64, the sums of the numbers before each one of its row, and last of all.
    """
    count = numbers.shape[0] // rows
    tiles = -(-count // TILE)
    sums = device.empty((rows * (count + 1),), np.int64)
    totals = device.empty((rows * tiles,), np.int64)
    most = NOTHING if largest is None else largest
    grid, block = (tiles, rows), (THREADS,)
    device.launch("scan_tiles", {}, grid, block, (np.int64(count), numbers, sums, totals, most))
    device.launch("scan_join", {}, grid, block, (np.int64(count), totals, sums, grand))
    return sums
