"""Samples for layered networks: the challenge's images, or digits made like them."""

from __future__ import annotations

import os
from pathlib import Path
from tokenize import TokenError
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.errors import BackendError, FileFormatError, OptionError
from evonet.files.regular import open_regular
from evonet.layered.files import MOST_BYTES, read_triples

Images = npt.NDArray[Any]
# What NumPy raises for headers that make no sense.
_NPY_ERRORS: Final = (
    *(ValueError, EOFError, MemoryError, TypeError, OverflowError, KeyError, IndexError),
    *(SyntaxError, TokenError, RecursionError, AttributeError),
)
# Of the 16 greys of scikit-learn's digits.
THRESHOLD: Final = 11


def read_inputs(path: str | os.PathLike[str], width: int, rows: int | None = None) -> Images:
    """Reads samples: a .tsv of the challenge, with lines of image, pixel and value, or a .npy.

    Args:
        path: The file.
        width: Inputs of the network.
        rows: Images of a .tsv, which does not say how many have no pixel; None for the last.

    Returns:
        [B, width], float32 or the file's own type.

    Raises:
        FileFormatError: The file holds something else.
        OSError: The file cannot be read.
    """
    where = Path(path)
    if where.suffix == ".npy":
        with open_regular(where) as file:
            try:
                found = np.lib.format.read_array(file, allow_pickle=False, max_header_size=4096)
            except _NPY_ERRORS as error:
                raise FileFormatError(f"{where}: {f'{error} '.splitlines()[0].strip()}") from None
        if found.ndim != 2 or found.shape[1] != width or found.dtype.kind not in "biuf":
            raise FileFormatError(
                f"{where}: expected numbers [B, {width}], found {found.dtype} {list(found.shape)}."
            )
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            raise FileFormatError(f"{where}: a number is not finite.")
        return found
    most = MOST_BYTES // 8 if rows is None else rows
    row, column, value = read_triples(where, most, width)
    count = int(row.max()) + 1 if rows is None else rows
    if count * width > 1 << 33:
        raise FileFormatError(f"{where}: {count} images of {width} pixels are too many.")
    images = np.zeros((count, width), np.float32)
    images[row, column] = value
    return images


def challenge_digits(width: int, rows: int = 60_000, seed: int = 0) -> npt.NDArray[np.uint8]:
    """Makes images like the challenge's of scikit-learn's 1,797 digits, equal ones each time.

    Digits are enlarged to the square root of `width`, moved by up to an eighth of that and
    thresholded to 0 and 1, so that about a fifth of the pixels is set, as in MNIST.

    Args:
        width: Pixels of an image, the square of a multiple of 8.
        rows: Images.
        seed: Decides how they are moved.

    Returns:
        [rows, width].

    Raises:
        OptionError: The width is something else.
        BackendError: scikit-learn is not installed.
    """
    side = int(np.sqrt(width))
    if side * side != width or side % 8 or side == 0:
        raise OptionError(f"digits need 64, 256, 1024, 4096, ... pixels, found {width}.")
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise BackendError("digits need scikit-learn: pip install scikit-learn.") from None
    small = load_digits().images
    # Between the centres of neighbouring pixels, values are mixed.
    at = np.clip((np.arange(side) + 0.5) * 8 / side - 0.5, 0, 7)
    low = np.minimum(at.astype(int), 6)
    mix = np.zeros((side, 8))
    mix[np.arange(side), low] = 1 - (at - low)
    mix[np.arange(side), low + 1] += at - low
    large = (np.einsum("si,bij,tj->bst", mix, small, mix) > THRESHOLD).astype(np.uint8)
    reach = side // 8
    chance = np.random.RandomState(seed)
    moves = chance.randint(-reach, reach + 1, (rows, 2))
    padded = np.pad(large, ((0, 0), (reach, reach), (reach, reach)))
    images = np.empty((rows, width), np.uint8)
    for i, (down, right) in enumerate(moves.tolist()):
        top, left = reach - down, reach - right
        picture = padded[i % len(padded), top : top + side, left : left + side]
        images[i] = picture.reshape(-1)
    return images
