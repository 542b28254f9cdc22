"""Writes a file completely or not at all, whatever fails in between."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def open_atomic(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Opens a file for writing that replaces `path` when the block ends without an error.

    The bytes go to a temporary file in the same folder, which is flushed to disk and only then
    renamed. After an error it is deleted, and the old file, if any, is unchanged.

    Args:
        path: The file to replace or create; for a symbolic link, the file it points to.

    Yields:
        A binary file to write to.

    Raises:
        OSError: It cannot be written; the error names `path`, not the temporary file.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    # Not tempfile: it ignores the umask and makes the file unreadable for others.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(temporary, flags, 0o666)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        try:
            os.replace(temporary, target)
        except OSError as error:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Makes a rename survive a power failure, where the system supports that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot sync a folder; the file itself is safe.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
