"""A file of JSON lines about generations that goes on where a resumed run does."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO


class GenerationLines:
    """One JSON object per line, each with its generation, in ascending order.

    A run that is killed may leave lines of generations that no checkpoint knows, and half a line
    at the end. So whoever goes on says where, and the file is cut there first.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Opens nothing yet.

        Args:
            path: The file; made, with its folder, once there is something to write.
        """
        self._path = Path(path)
        self._file: TextIO | None = None

    def begin(self, generation: int) -> None:
        """Drops the lines from a generation on, once; later calls change nothing.

        Args:
            generation: The first that lines will be about; 0 begins a fresh file.

        Raises:
            OSError: The disk or the folder does not take it.
        """
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._cut(generation)
            self._file = open(self._path, "a", encoding="utf-8", newline="\n")  # noqa: SIM115

    def write(self, line: Mapping[str, Any]) -> None:
        """Adds a line that other programs see at once; call `begin` before.

        Args:
            line: Has a "generation".

        Raises:
            OSError: The disk does not take it.
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
        """Ends the file before the first line of a generation, or before a line cut short."""
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
