"""What wide levels consist of, for all backends."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

HASH_KINDS: Final = ("simhash", "dwta")  # as kernels/wide/hash.h numbers them
DIGIT_BITS: Final = {"simhash": 1, "dwta": 3}
ROW_LANES: Final = 16
ROW_STATE: Final = 4
BIN_COLUMNS: Final = 8
BORROWINGS: Final = 16


@dataclasses.dataclass(frozen=True)
class HashPlan:
    """The hash functions of a level; see kernels/wide/hash.h.

    Attributes:
        kind: 0 for SimHash, 1 for DWTA.
        bits: Bits of a bucket's code.
        tables: The number of tables.
        columns: Columns of a row as the functions see it, a power of 2.
        signs: [rounds, 2, columns] of 1 and -1, for SimHash.
        positions: [functions, 8] columns, for DWTA.
        borrow: [functions, 16] other bins, for DWTA.
    """

    kind: int
    bits: int
    tables: int
    columns: int
    signs: Any
    positions: Any
    borrow: Any

    @property
    def digit_bits(self) -> int:
        """Bits of one function's value."""
        return DIGIT_BITS[HASH_KINDS[self.kind]]

    @property
    def functions(self) -> int:
        """The number of hash functions of all tables."""
        return self.tables * (self.bits // self.digit_bits)


@dataclasses.dataclass(frozen=True)
class Buckets:
    """How many buckets a table has, and what a full one keeps."""

    count: int
    capacity: int
    keep_last: bool


@dataclasses.dataclass
class Tables:
    """Hash tables: rows by bucket.

    Attributes:
        starts: [tables, buckets + 1] where a bucket starts in `ids`.
        ids: [tables, rows].
    """

    starts: Any
    ids: Any


@dataclasses.dataclass
class Lists:
    """Rows by list; that of sample b is `rows.flat[begin[b]:end[b]]`, ascending."""

    begin: Any  # [B]
    end: Any  # [B]
    rows: Any  # [...]


@dataclasses.dataclass
class Level:
    """The rows of a wide level, with Adam's averages.

    Attributes:
        weights: [rows, width].
        mean: [rows, width] averages of gradients.
        square: [rows, width] averages of their squares.
        state: [rows, 4]: bias, its averages, and the number of updates.
    """

    weights: Any
    mean: Any
    square: Any
    state: Any


@dataclasses.dataclass(frozen=True)
class AdamRule:
    """Adam's numbers, and its corrections by a row's number of updates."""

    beta1: float
    beta2: float
    epsilon: float
    corrected_rate: Any
    correction: Any
