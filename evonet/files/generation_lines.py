"""A file of JSON lines, one or more per generation, that a resumed run continues."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO


class GenerationLines:
    """One JSON object per line, each with its generation, in ascending order.

    A run that is killed may leave lines of generations after its last checkpoint, and half a line
    at the end. So a resumed run gives its first generation, and the file is truncated there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Opens nothing yet.

        Args:
            path: The file; created, with its folder, by `begin`.
        """
        self._path = Path(path)
        self._file: TextIO | None = None

    def begin(self, generation: int) -> None:
        """Opens the file and removes lines from a generation on; later calls do nothing.

        Args:
            generation: The first generation to be written; 0 starts a new file.

        Raises:
            OSError: The file cannot be written.
        """
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._cut(generation)
            self._file = open(self._path, "a", encoding="utf-8", newline="\n")  # noqa: SIM115

    def write(self, line: Mapping[str, Any]) -> None:
        """Appends a line and flushes it; call `begin` first.

        Args:
            line: An object with a "generation".

        Raises:
            OSError: The file cannot be written.
        """
        assert self._file is not None
        self._file.write(json.dumps(line, allow_nan=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Closes the file, if it is open."""
        if self._file is not None:
            file, self._file = self._file, None
            file.close()

    def _cut(self, generation: int) -> None:
        """Truncates the file before a generation's first line or an incomplete line."""
        if generation == 0 or not self._path.exists():
            self._path.write_bytes(b"")
            return
        with open(self._path, "r+b") as file:
            end = 0
            for line in file:
                if not line.endswith(b"\n") or _generation_of(line) >= generation:
                    break
                end += len(line)
            file.truncate(end)


def _generation_of(line: bytes) -> int:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        return -1
    found = record.get("generation") if isinstance(record, dict) else None
    return found if type(found) is int else -1
