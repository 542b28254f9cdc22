"""Files of named arrays that the harness reads and writes: a line "case name bytes", the bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[np.generic]]


def write(path: Path, cases: Mapping[str, Arrays]) -> None:
    """Writes the arrays of all cases."""
    with path.open("wb") as file:
        for case, arrays in cases.items():
            for name, array in arrays.items():
                data = np.ascontiguousarray(array).tobytes()
                file.write(f"{case} {name} {len(data)}\n".encode() + data)


def read(path: Path) -> dict[str, dict[str, bytes]]:
    """Reads the arrays of all cases as bytes."""
    found: dict[str, dict[str, bytes]] = {}
    with path.open("rb") as file:
        while line := file.readline():
            case, name, size = line.decode().split()
            found.setdefault(case, {})[name] = file.read(int(size))
    return found
