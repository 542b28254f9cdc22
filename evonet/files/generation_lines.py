"""A file of JSON lines, one or more per generation, that a resumed run continues."""

from __future__ import annotations

import io
import itertools
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TextIO

from evonet.errors import FileFormatError
from evonet.files.atomic import open_atomic, resolve_inside
from evonet.files.regular import open_regular

# Longer than the line of a genome of a million links.
MOST_BYTES: Final = 1 << 28
# Not through a link that has taken the file's place.
APPENDING: Final = (
    os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
)


class GenerationLines:
    """One JSON object per line, each with its generation, in ascending order.

    A run that is killed may leave lines of generations after its last checkpoint, and half a line
    at the end. So a resumed run gives its first generation, and the file is truncated there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Opens nothing yet.

        Args:
            path: The file; created, with its folder, by `begin`. No link is followed out of its
                folder, and nothing but a regular file is written to.
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
            path = resolve_inside(self._path)
            self._cut(path, generation)
            file = open_regular(path, APPENDING)
            self._file = io.TextIOWrapper(file, encoding="utf-8", newline="\n")

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

    def _cut(self, path: Path, generation: int) -> None:
        """Keeps the lines before a generation's first line or an incomplete line.

        They go to a new file, so that copies of a folder by hard links stay as they are.
        """
        old = read_lines(path) if generation > 0 and path.exists() else ()
        with open_atomic(path) as new:
            for _, line in old:
                if _generation_of(line) >= generation:
                    break
                new.write(line)


def read_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    """Reads the complete lines of a file, each with its number, counted from 1.

    Raises:
        FileFormatError: A line is longer than any that a run writes.
        OSError: There is no such file, or it cannot be read.
    """
    with open_regular(path) as file:
        for number in itertools.count(1):
            line = file.readline(MOST_BYTES)
            if len(line) == MOST_BYTES:
                raise FileFormatError(f"{os.fspath(path)}: line {number} is too long.")
            if not line.endswith(b"\n"):
                return
            yield number, line


def goes_beyond(path: str | os.PathLike[str], generation: int) -> bool:
    """Whether a file has complete lines of later generations, or lines of something else.

    Args:
        path: The file, which need not exist.
        generation: The last generation that does not count.

    Raises:
        OSError: The file cannot be read.
    """
    try:
        return any(not 0 <= _generation_of(line) <= generation for _, line in read_lines(path))
    except FileNotFoundError:
        return False


def _generation_of(line: bytes) -> int:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        return -1
    found = record.get("generation") if isinstance(record, dict) else None
    return found if type(found) is int else -1
