"""Tables to learn from: CSV and NPZ files whose cells, headers and archives lie."""

from __future__ import annotations

import io
import random
import struct
import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np

from evonet.tasks import classification, regression
from tests.campaigns.hostile.hostile_values import damage, value
from tests.campaigns.hostile.watch import Input

SHARE: Final = 12
CELLS: Final = (
    *("1", "0", "-1.5", "a", "b", "", " ", "nan", "NA", "inf", "-inf", "1e999", "1e39", "1e-400"),
    *(
        '"',
        '"a,b"',
        "'",
        "1,2",
        "\x00",
        "\x1b[31m",
        "\u202e",
        "0x10",
        "1_000",
        "9" * 400,
        "a" * 3000,
    ),
    *("\u0661", "TRUE", "=1+1", "\ufeff", "1;2", "\t"),
)
DTYPES: Final = (
    "<f8",
    ">f8",
    "<i4",
    "|b1",
    "<U3",
    "|S5",
    "<c16",
    "|O",
    "<m8[s]",
    "|V4",
    "<f2",
    "<U0",
)


def attack(rng: random.Random, folder: Path) -> Input:
    """Writes a hostile table, and makes a task of it."""
    if rng.random() < 0.55:
        path = folder / rng.choice(("t.csv", "t.csv", "t.tsv"))
        data = _csv(rng)
    else:
        path = folder / "t.npz"
        data = _npz(rng)
    path.write_bytes(damage(data, rng) if rng.random() < 0.4 else data)
    make: Any = rng.choice((regression, classification))
    options: dict[str, Any] = {}
    if rng.random() < 0.4:
        names = (
            "targets",
            "test_fraction",
            "split_seed",
            "standardize",
            "header",
            "missing",
            "exclude",
        )
        options[rng.choice(names)] = rng.choice(
            (0.5, True, "no", "fill", "drop", ["a"], value(rng))
        )
    return lambda: make(data=str(path), **options)


def _csv(rng: random.Random) -> bytes:
    width = rng.choice((1, 2, 3, 3, 3, 60))
    separator = rng.choice((",", ",", ",", ";", "\t"))
    rows = []
    good = rng.random() < 0.5
    for number in range(rng.choice((0, 1, 2, 5, 12))):
        if number == 0 and rng.random() < 0.7:
            cells = [f"c{i}" for i in range(width)]
        elif good:
            cells = [rng.choice(("1", "2.5", "0", "-3")) for _ in range(width)]
            if rng.random() < 0.2:
                cells[rng.randrange(width)] = rng.choice(CELLS)
        else:
            cells = [rng.choice(CELLS) for _ in range(max(0, width + rng.choice((0, 0, 0, -1, 1))))]
        rows.append(separator.join(cells))
    text = rng.choice(("\n", "\r\n", "\r")).join(rows)
    return text.encode(rng.choice(("utf-8", "utf-8", "utf-8", "utf-16", "utf-8-sig")))


def _npz(rng: random.Random) -> bytes:
    buffer = io.BytesIO()
    method = rng.choice(
        (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    )
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name in ("x", "y"):
            if rng.random() < 0.97:
                archive.writestr(f"{name}.npy", _npy(rng))
            if rng.random() < 0.02:
                archive.writestr(rng.choice(("z", f"{name}.npy ", "../x")), b"")
    data = bytearray(buffer.getvalue())
    if rng.random() < 0.15:  # a size in the directory that is not that of the entry
        at = data.find(b"PK\x01\x02")
        if at >= 0:
            struct.pack_into("<I", data, at + 24, rng.choice((0, 1, 2**31, 2**32 - 1)))
    return bytes(data)


def _npy(rng: random.Random) -> bytes:
    if rng.random() < 0.4:
        shape: tuple[int, ...] = rng.choice(((4, 2), (4,), (4, 1), (0, 2), (), (2, 2, 2)))
        buffer = io.BytesIO()
        array = np.arange(
            np.prod(shape, dtype=int), dtype=rng.choice((np.float64, np.int32, np.float16))
        )
        np.save(buffer, array.reshape(shape))
        return buffer.getvalue()
    shapes = (
        "(4, 2)",
        "(4,)",
        "(10**9, 10**9)",
        f"({2**62}, 4)",
        "(-1, 4)",
        "()",
        "4",
        "(4.0,)",
        "[4]",
    )
    descr = repr(rng.choice(DTYPES)) if rng.random() < 0.9 else "[('a', '<f8'), ('b', '<i4')]"
    header = (
        f"{{'descr': {descr}, 'fortran_order': {rng.choice(('True', 'False', '2'))}, "
        f"'shape': {rng.choice(shapes)}}}"
    )
    if rng.random() < 0.1:
        header = rng.choice(("{", "[" * 90, "__import__('os')", "1", "{}", "x" * 9000))
    text = header.encode().ljust(117) + b"\n"
    length = len(text) if rng.random() < 0.9 else rng.choice((0, 1, 65535))
    version = rng.choice(((1, 0), (1, 0), (2, 0), (3, 0), (9, 9)))
    size = length.to_bytes(2 if version[0] == 1 else 4, "little")
    return b"\x93NUMPY" + bytes(version) + size + text + rng.randbytes(rng.choice((0, 8, 32, 64)))
