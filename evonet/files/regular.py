"""Opens files to read: regular ones only, and no more of them than they may hold."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

from evonet.errors import FileFormatError
from evonet.messages import printable

# A pipe without a writer must not block; on regular files the flag has no effect.
READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def open_regular(path: str | os.PathLike[str], flags: int = READING) -> BinaryIO:
    """Opens a regular file, or one that a link leads to; never a pipe, device or folder.

    Args:
        path: The file.
        flags: Those of `os.open`.

    Raises:
        OSError: It cannot be opened, or is no regular file.
    """
    descriptor = os.open(path, flags, 0o666)
    try:
        check_regular(path, os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "wb" if flags & (os.O_WRONLY | os.O_RDWR) else "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check_regular(path: str | os.PathLike[str], mode: int) -> None:
    """Raises unless a mode, as `os.stat` returns it, is that of a regular file.

    Raises:
        OSError: It is not; the error names the path.
    """
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder. Expected a file", os.fspath(path))
    if not stat.S_ISREG(mode):
        raise OSError(
            errno.EINVAL, "is a pipe, socket or device. Expected a regular file", os.fspath(path)
        )


def read_bytes(path: str | os.PathLike[str], most: int) -> bytes:
    """Reads a regular file, if it is not too long.

    Args:
        path: The file.
        most: Bytes that it may have; longer files are not read at all.

    Raises:
        FileFormatError: It is longer.
        OSError: It cannot be read, or is no regular file.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = b"" if size > most else file.read(size + 1)
    if max(size, len(data)) > most:
        where = printable(os.fspath(path))
        raise FileFormatError(f"{where}: has more than {most:,} bytes. That is too long.")
    return data
