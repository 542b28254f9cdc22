"""The hash functions of a wide level, drawn from its seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evonet.backends.wide_level import BIN_COLUMNS, BORROWINGS, DIGIT_BITS, HASH_KINDS, HashPlan
from evonet.numerics.philox import Purpose, choose, philox


def make_plan(kind: str, bits: int, tables: int, hidden: int, width: int, seed: int) -> HashPlan:
    """Draws the hash functions of all tables.

    Args:
        kind: "simhash" or "dwta".
        bits: Bits of a bucket's code; for "dwta" a multiple of 3.
        tables: The number of tables.
        hidden: Columns of a row that are in use.
        width: Columns of a row with its padding.
        seed: The level's seed.
    """
    columns = 1 << (width - 1).bit_length()
    functions = tables * (bits // DIGIT_BITS[kind])
    signs = np.zeros((0, 2, columns), np.float32)
    positions, borrow = np.zeros((0, BIN_COLUMNS), np.int32), np.zeros((0, BORROWINGS), np.int32)
    if kind == "simhash":
        rounds = -(-functions // columns)
        words = _draw(seed, 0, rounds * 2, columns)
        signs = (1.0 - 2.0 * (words & np.uint64(1))).astype(np.float32)
        signs = signs.reshape(rounds, 2, columns)
    else:
        order = np.argsort(_draw(seed, 1, functions, hidden), axis=1, kind="stable")
        positions = np.ascontiguousarray(order[:, np.arange(BIN_COLUMNS) % hidden], np.int32)
        borrow = choose(_draw(seed, 2, functions, BORROWINGS), functions).astype(np.int32)
    return HashPlan(HASH_KINDS.index(kind), bits, tables, columns, signs, positions, borrow)


def default_bits(kind: str, num_classes: int) -> int:
    """Bits that leave about 16 classes to a bucket for "dwta", and 1,024 for "simhash".

    That is if all were equally full. Those that rectified hidden values meet by SimHash are nearly
    empty: trained on 670,091 classes, 24 buckets of 10 bits held 844 classes, and of 16 bits 7.
    """
    together = 16 if kind == "dwta" else 1024
    wanted = max(3, (num_classes // together).bit_length())
    digit = DIGIT_BITS[kind]
    return min(18, -(-wanted // digit) * digit)


def _draw(seed: int, what: int, rows: int, columns: int) -> NDArray[np.uint64]:
    """Words [rows, columns]."""
    at = np.arange(rows)[:, None], np.arange(columns)[None, :]
    words: NDArray[np.uint64] = philox(seed, what, at[0], Purpose.WIDE_HASH, at[1])[0]
    return words
