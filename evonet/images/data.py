"""Reads images with their classes: NPZ files, folders of PNG files, and the digits by name.

Nothing in a file is trusted: sizes are checked before they are allocated, and every message names
the file to blame.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.errors import FileFormatError, OptionError, ShapeError
from evonet.files.npz import read_npz
from evonet.files.regular import open_regular
from evonet.messages import counted, show

Array = npt.NDArray[Any]

DIGITS: Final = "digits"
# Numbers of all images: a gigabyte of float32.
MOST_NUMBERS: Final = 1 << 28
# Channels that images may have last.
LAST_CHANNELS: Final = (1, 3, 4)


@dataclass(frozen=True)
class ImageSet:
    """Images, perhaps with their classes.

    Attributes:
        images: [B, C, H, W] as they were stored: bytes, or real numbers.
        labels: [B] the class of each; none if they are not known.
        names: [B] what each image is called: a file, or a position.
    """

    images: Array
    labels: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        """(C, H, W) of an image."""
        channels, height, width = self.images.shape[1:]
        return channels, height, width


def load_images(data: Any, *, labels: bool = True) -> ImageSet:
    """Reads images.

    Args:
        data: "digits" for scikit-learn's; the path of an NPZ file with images and labels, or of a
            folder with a folder of PNG files per class; or (images, labels) arrays.
        labels: Whether classes are required. Without them a folder may hold PNG files itself, and
            a path may be that of one PNG file.

    Raises:
        OptionError: It is nothing of that, or a package is missing.
        FileFormatError: A file does not hold such images; names it.
        FileNotFoundError: There is no such file.
    """
    if isinstance(data, tuple) and len(data) == 2:
        try:
            return _of_arrays(*data, labels)
        except ShapeError as error:
            raise OptionError(f"data: {error}", "data") from error
    if not isinstance(data, (str, Path)):
        raise OptionError(
            f"data = {show(data)} must be a file, a folder, or (images, labels) arrays.", "data"
        )
    if data == DIGITS:
        return _digits()
    path = Path(data)
    if path.is_dir():
        return _read_folder(path, labels)
    if path.suffix.lower() == ".png" and not labels:
        return ImageSet(_stack([path]), (), (path.name,))
    if path.suffix.lower() != ".npz":
        raise OptionError(
            f'data = {show(str(path))} must be an .npz file, a folder of PNG files, or "{DIGITS}".',
            "data",
        )
    try:
        if labels:
            images, classes = read_npz(path, ("images", "labels"))
            return _of_arrays(images, classes, True)
        return _of_arrays(read_npz(path, ("images",))[0], _perhaps_labels(path), False)
    except ShapeError as error:
        raise FileFormatError(f"{path}: {error}") from error


def _perhaps_labels(path: Path) -> Array | None:
    try:
        return read_npz(path, ("labels",))[0]
    except FileFormatError:
        return None


def _digits() -> ImageSet:
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise OptionError(
            f'data = "{DIGITS}" comes with scikit-learn, which is not installed: '
            "pip install scikit-learn",
            "data",
        ) from None
    bunch = load_digits()
    return _of_arrays(bunch.images, bunch.target, True)


def _of_arrays(images: Any, labels: Any, required: bool) -> ImageSet:
    found = _channels_first(np.asarray(images))
    if found.dtype.kind not in "biuf":
        raise ShapeError(f"images must hold numbers, found {found.dtype}.")
    if len(found) == 0 or 0 in found.shape:
        raise ShapeError(f"images has shape {list(found.shape)}: there is nothing in it.")
    if found.size > MOST_NUMBERS:
        raise ShapeError(f"images holds {found.size:,} numbers. Allowed: {MOST_NUMBERS:,}.")
    if found.dtype.kind == "f":
        bad = np.argwhere(~np.isfinite(found))
        if len(bad):
            at, number = ", ".join(map(str, bad[0])), found[tuple(bad[0])]
            raise ShapeError(
                f"images must hold finite numbers only, found images[{at}] = {number}."
            )
    names = tuple(map(str, range(len(found))))
    if labels is None and not required:
        return ImageSet(found, (), names)
    answers = np.asarray(labels)
    if answers.shape != (len(found),):
        raise ShapeError(
            f"labels must have shape [{len(found)}], a class for each image, "
            f"found {list(answers.shape)}."
        )
    if answers.dtype.kind not in "biuU":
        raise ShapeError(f"labels must hold whole numbers or text, found {answers.dtype}.")
    return ImageSet(found, tuple(map(str, answers.tolist())), names)


def _channels_first(images: Array) -> Array:
    if images.ndim == 3:
        return images[:, None]
    if images.ndim != 4:
        raise ShapeError(
            "images must have shape [B, H, W], [B, C, H, W], or [B, H, W, C] with 1, 3 or 4 "
            f"channels, found {list(images.shape)}."
        )
    if images.shape[3] in LAST_CHANNELS and images.shape[1] not in LAST_CHANNELS:
        return np.ascontiguousarray(images.transpose(0, 3, 1, 2))
    return images


def _read_folder(path: Path, labels: bool) -> ImageSet:
    folders = sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    own = _png_files(path)
    if not labels and not folders:
        if not own:
            raise FileFormatError(f"{path}: holds no PNG files.")
        return ImageSet(_stack(own), (), tuple(file.name for file in own))
    if len(folders) < 2:
        raise FileFormatError(
            f"{path}: has {counted(len(folders), 'folder')}. Expected a folder of PNG files for "
            "each of two classes or more."
        )
    files: list[Path] = []
    classes: list[str] = []
    for folder in folders:
        found = _png_files(folder)
        if not found:
            raise FileFormatError(f"{folder}: holds no PNG files, so that this class is empty.")
        files += found
        classes += [folder.name] * len(found)
    names = tuple(str(file.relative_to(path)) for file in files)
    return ImageSet(_stack(files), tuple(classes), names)


def _png_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.suffix.lower() == ".png" and p.is_file())


def _stack(files: Sequence[Path]) -> Array:
    """Reads PNG files of one size: grey ones [B, 1, H, W], or if any has colours [B, 3, H, W]."""
    pictures = []
    numbers = 0
    for file in files:
        pictures.append(_read_png(file))
        if pictures[-1].shape[:2] != pictures[0].shape[:2]:
            sizes = [f"{p.shape[1]} x {p.shape[0]}" for p in (pictures[-1], pictures[0])]
            raise FileFormatError(
                f"{file}: has {sizes[0]} pixels, and {files[0].name} has {sizes[1]}. All images "
                "must have the same size."
            )
        numbers += math.prod(pictures[-1].shape)
        if numbers > MOST_NUMBERS:
            raise FileFormatError(
                f"{file}: more than {MOST_NUMBERS:,} numbers in all images. Use fewer or smaller "
                "ones."
            )
    if any(picture.shape[2] == 3 for picture in pictures):
        pictures = [np.repeat(p, 3, axis=2) if p.shape[2] == 1 else p for p in pictures]
    return np.ascontiguousarray(np.stack(pictures).transpose(0, 3, 1, 2))


def _read_png(file: Path) -> Array:
    """[H, W, 1] or [H, W, 3] bytes."""
    try:
        from PIL import Image
    except ImportError:
        raise OptionError(
            "folders of PNG files need Pillow. Install it with: pip install 'evonet-gpu[images]'",
            "data",
        ) from None
    with open_regular(file) as opened, warnings.catch_warnings():
        warnings.simplefilter("error")  # Pillow only warns of pictures that grow too large
        try:
            with Image.open(opened, formats=["PNG"]) as picture:
                if picture.width * picture.height > MOST_NUMBERS:
                    raise ValueError(f"{picture.width} x {picture.height} pixels are too many")
                grey = picture.mode in ("1", "L", "LA", "I", "I;16")
                if picture.mode in ("I", "I;16"):  # 16 bits, of which the upper eight are taken
                    return (np.asarray(picture).astype(np.int64) >> 8).astype(np.uint8)[..., None]
                read = np.asarray(picture.convert("L" if grey else "RGB"))
        except OSError as error:
            if error.errno is not None:
                raise
            raise FileFormatError(f"{file}: this is not a PNG file: {show(str(error))}") from error
        except (ValueError, SyntaxError, Warning, Image.DecompressionBombError) as error:
            raise FileFormatError(f"{file}: this is not a PNG file: {show(str(error))}") from error
    return read[..., None] if read.ndim == 2 else read
