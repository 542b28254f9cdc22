"""Writes a file completely or not at all, whatever fails in between."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from evonet.files.regular import check_regular

# What a killed process leaves behind: the name of the file that it was writing is the first group.
_LEFTOVER: Final = re.compile(r"\.(.+)\.[0-9a-f]{16}\.tmp", re.DOTALL)


@contextmanager
def open_atomic(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Opens a file for writing that replaces `path` when the block ends without an error.

    The bytes go to a temporary file in the same folder, which is flushed to disk and only then
    renamed. After an error it is deleted, and the old file, if any, is unchanged.

    Args:
        path: The file to replace or create; for a symbolic link, the file it points to. Nothing
            but a regular file is replaced.

    Yields:
        A binary file to write to.

    Raises:
        OSError: It cannot be written; the error names `path`, not the temporary file.
    """
    target = Path(os.path.realpath(path))
    try:
        with suppress(FileNotFoundError):
            check_regular(path, os.stat(target).st_mode)
        temporary, descriptor = _create_beside(target)
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


def resolve_inside(path: str | os.PathLike[str]) -> Path:
    """Returns where a path leads to, unless that is outside of its folder.

    Folders come from elsewhere, with links in them. What is written into a folder stays there.

    Args:
        path: A file or folder, which need not exist. Links in the path to its parent are followed.

    Raises:
        OSError: It is a link to somewhere else.
    """
    home, target = os.path.realpath(Path(path).parent), Path(os.path.realpath(path))
    if not target.is_relative_to(home):
        raise PermissionError(
            errno.EPERM,
            "is a link that leads out of its folder, and nothing is written through it. Replace "
            "the link by what it points to",
            os.fspath(path),
        )
    return target


def remove_leftovers(folder: str | os.PathLike[str], names: Container[str]) -> None:
    """Removes what killed processes left of files that they were writing.

    Args:
        folder: Where to look; there may be no such folder.
        names: The names of the files that were to be written. Files that a living process is
            writing stay.

    Raises:
        OSError: A file cannot be removed.
    """
    home = Path(folder)
    for file in list(home.iterdir()) if home.is_dir() else ():
        match = _LEFTOVER.fullmatch(file.name)
        if match and match[1] in names and not file.is_symlink() and file.is_file():
            with suppress(FileNotFoundError):
                descriptor = os.open(file, os.O_RDONLY)
                try:
                    if _lock(descriptor):
                        file.unlink(missing_ok=True)
                finally:
                    os.close(descriptor)


def _create_beside(target: Path) -> tuple[Path, int]:
    """Creates a temporary file, which is locked for as long as this process has it open."""
    # Not tempfile: it ignores the umask and makes the file unreadable for others.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
        descriptor = os.open(temporary, flags, 0o666)
        if _lock(descriptor) and os.fstat(descriptor).st_nlink > 0:
            return temporary, descriptor
        os.close(descriptor)  # taken for a leftover before it was locked
        with suppress(OSError):
            temporary.unlink()


def _lock(descriptor: int) -> bool:
    """Locks a file; False if another process has done so. Where there are no locks, True."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # Windows
        return True
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


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
