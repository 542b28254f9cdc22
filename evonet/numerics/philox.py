"""Counter-based random numbers in NumPy: the same draws as `kernels/numerics/philox.h`.

A draw is a pure function of (seed, generation, child, purpose, draw), so there is no state to save
and no order to keep.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]


class Purpose(IntEnum):
    """What a draw is for, as in kernels/numerics/philox.h."""

    PARENTS = 0
    INHERITED_CONNECTION = 1
    INHERITED_NODE = 2
    STRUCTURE = 3
    NEW_CONNECTION = 4
    NEW_NODE = 5
    CONNECTION = 6
    NODE = 7
    FIRST_CONNECTION = 8
    FIRST_NODE = 9
    FIRST_STRUCTURE = 10
    EPISODE = 64
    SPLIT = 65
    BATCH = 66
    HELD_OUT = 67
    FRONT = 72
    WIDE_WEIGHT = 96
    WIDE_HASH = 97
    WIDE_RESERVOIR = 98
    WIDE_QUERY = 99
    WIDE_NEGATIVES = 100
    WIDE_ORDER = 101
    WIDE_PLANTED = 102


def philox(
    seed: int,
    generation: int,
    child: npt.ArrayLike,
    purpose: Purpose,
    draw: npt.ArrayLike,
) -> Words:
    """Draws four words for each (child, draw), which broadcast against each other.

    Args:
        seed: 0 to 2^64 - 1.
        generation: 0 to 2^32 - 1.
        child: Position in the new population, [...].
        purpose: What the draw is for.
        draw: The number of the draw, [...].

    Returns:
        [4, ...] words of 32 bits, held in uint64.
    """
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    c0, c2 = np.broadcast_arrays(np.asarray(draw, np.uint64), np.asarray(child, np.uint64))
    c1 = np.full_like(c0, int(purpose))
    c3 = np.full_like(c0, generation & 0xFFFFFFFF)
    k0, k1 = seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (
            (p1 >> shift) ^ c1 ^ np.uint64(k0),
            p1 & low,
            (p0 >> shift) ^ c3 ^ np.uint64(k1),
            p0 & low,
        )
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3])


def uniform(word: Words) -> npt.NDArray[np.float32]:
    """[0, 1) in steps of 2^-24."""
    return (word >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)


def choose(word: Words, count: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """0 to count - 1, each equally likely up to 2^-32."""
    return ((word * np.asarray(count, np.uint64)) >> np.uint64(32)).astype(np.int64)
