"""Numbers of structural mutations, handed out on a GPU by the rule of `genetics/numbering.h`.

The native engine walks over the children. Here every child enters its mutation into a table, which
finds the first child of each; prefix sums over these firsts then give the numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evonet.backends.cuda.genetics.sums import NOTHING, THREADS, blocks_for, fill, prefix_sums

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray


class Claims(NamedTuple):
    """The first child of each mutation of a kind; see `kernels/cuda/claims.h`."""

    bits: int
    slots: DeviceArray
    first: DeviceArray
    place: DeviceArray


class Numbers(NamedTuple):
    """What children are numbered by; see `kernels/cuda/put_children.cu`."""

    splits: Claims
    splits_before: DeviceArray  # [C + 1] new splits of the children before each
    additions: Claims
    innovations_before: DeviceArray  # [C + 1] innovations that they take


def hand_out_numbers(
    device: Device,
    requests: DeviceArray,
    num_new: DeviceArray,
    next_node_key: int,
    grand: DeviceArray,
) -> Numbers:
    """Finds out which child takes which numbers.

    Args:
        device: The GPU.
        requests: [3 * C] int64, the splits, sources and targets of all children.
        num_new: [C] int32, how many connections of each need numbers.
        next_node_key: The next node key.
        grand: [2] int64, becomes the number of new node keys and of new innovations.
    """
    count = num_new.shape[0]
    grid, block = blocks_for(count), (THREADS,)
    taken = device.empty((count,), np.int32)
    splits = _empty_claims(device, count)
    nothing = np.int32(0), NOTHING, NOTHING, NOTHING
    common = np.int64(count), requests, num_new
    device.launch(
        "claim_numbers",
        {"ADDITIONS": 0},
        grid,
        block,
        (*common, np.int32(splits.bits), *splits[1:], *nothing, np.int64(next_node_key)),
    )
    firsts = splits.first, splits.place
    arguments = np.int64(count), requests, *firsts, NOTHING, NOTHING, taken
    device.launch("count_numbers", {"ADDITIONS": 0}, grid, block, arguments)
    splits_before = prefix_sums(device, taken, 1, grand[:1])

    additions = _empty_claims(device, count)
    known = np.int32(splits.bits), *firsts, splits_before, np.int64(next_node_key)
    device.launch(
        "claim_numbers",
        {"ADDITIONS": 1},
        grid,
        block,
        (*common, np.int32(additions.bits), *additions[1:], *known),
    )
    arguments = np.int64(count), requests, *firsts, additions.first, additions.place, taken
    device.launch("count_numbers", {"ADDITIONS": 1}, grid, block, arguments)
    return Numbers(splits, splits_before, additions, prefix_sums(device, taken, 1, grand[1:]))


def _empty_claims(device: Device, count: int) -> Claims:
    bits = max(2, (2 * count - 1).bit_length())  # half of the slots stay empty at least
    slots = device.empty((1 << bits,), np.int32)
    first = device.empty((1 << bits,), np.uint32)
    for array in (slots, first):
        fill(device, array, 0xFFFFFFFF)
    return Claims(bits, slots, first, device.empty((count,), np.int32))
