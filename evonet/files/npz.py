"""Reads NPZ files, the archives of arrays that `numpy.savez` writes, without trusting them.

NumPy allocates what a header declares before it looks at the data. Here an array's declared size
must be that of its entry, and entries may not grow out of proportion when they are unpacked.
"""

from __future__ import annotations

import math
import os
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evonet.errors import FileFormatError
from evonet.files.regular import open_regular
from evonet.messages import name

# Archives may unpack to this many bytes whatever their length ...
PLAIN_BYTES: Final = 1 << 28
# ... and longer ones to this many times their length.
MOST_RATIO: Final = 100


def read_npz(path: Path, names: Sequence[str]) -> list[NDArray[Any]]:
    """Reads some arrays of an NPZ file.

    Args:
        path: The file.
        names: The names of the arrays.

    Returns:
        The arrays, in the order of their names.

    Raises:
        FileFormatError: An array is missing, or the file is damaged or holds something else.
        OSError: There is no such file, or it cannot be read.
    """
    with open_regular(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.filelist}
                missing = sorted(set(names) - set(entries))
                if missing:
                    raise FileFormatError(f"{path}: the array {missing[0]} is missing.")
                chosen = [entries[key] for key in names]
                _check_sizes(chosen, os.fstat(file.fileno()).st_size)
                return [_read_array(archive, entry) for entry in chosen]
        except FileFormatError:
            raise
        except Exception as error:  # zipfile, its decompressors and NumPy raise a dozen kinds
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the disk, not the contents
            reason = name(str(error) or type(error).__name__)
            raise FileFormatError(
                f"{path}: this is not an NPZ file of plain arrays: {reason}"
            ) from error


def _check_sizes(entries: Sequence[zipfile.ZipInfo], length: int) -> None:
    """Raises if entries would unpack to much more than the file can hold."""
    total = sum(entry.file_size for entry in entries)
    if total > max(PLAIN_BYTES, MOST_RATIO * length):
        raise ValueError(f"its arrays claim {total:,} bytes, and the file has {length:,}")


def _read_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(entry) as file:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"the array {entry.filename} has version {version} of its format")
        read = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
        shape, by_column, dtype = read(file)
        if dtype.hasobject or dtype.names is not None or dtype.subdtype is not None:
            raise ValueError(f"the array {entry.filename} holds objects, not plain numbers or text")
        wanted, rest = math.prod(shape) * dtype.itemsize, entry.file_size - file.tell()
        if wanted != rest or min(shape, default=0) < 0:
            raise ValueError(
                f"the array {entry.filename} declares {wanted:,} bytes and has {rest:,}"
            )
        flat = np.frombuffer(file.read(wanted), dtype)
    if dtype.kind == "U":
        points = flat.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if points.max(initial=0) > sys.maxunicode:
            raise ValueError(f"the array {entry.filename} holds text that is not Unicode")
    return flat.reshape(shape, order="F" if by_column else "C")
