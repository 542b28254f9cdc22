"""Files of layered networks: Graph Challenge folders, pruned models, and a cache of our own.

Nothing is executed, and nothing is trusted: a file that is cut, names a node that does not exist
or holds something but finite numbers is a `FileFormatError` of one line.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.typing import DTypeLike

from evonet.errors import EvonetError, FileFormatError
from evonet.files.checksummed_tensors import read_tensors, write_tensors
from evonet.files.regular import read_bytes
from evonet.functions.registry import ACTIVATION_TABLE, activation_id
from evonet.genes.arrays import RealType, real_type
from evonet.genes.layers import Layer, read_layers
from evonet.layered.radix import CLAMP, challenge_bias, clamp_id
from evonet.messages import show

FORMAT: Final = "evonet.layers"
VERSION: Final = 1
CACHE: Final = "evonet-layers.safetensors"
ARRAYS: Final = ("width", "start", "source", "weight", "bias")
# A layer's file of the challenge's largest network has 50 MB.
MOST_BYTES: Final = 1 << 30
MOST_WIDTH: Final = 1 << 24

_LAYER = re.compile(r"n(\d{1,8})-l(\d{1,7})\.tsv")


def read_challenge(
    folder: str | os.PathLike[str],
    dtype: DTypeLike = np.float32,
    *,
    depth: int | None = None,
    report: Callable[[int, int], None] | None = None,
) -> list[Layer]:
    """Reads a network of the Sparse DNN Graph Challenge: files nWIDTH-l1.tsv, nWIDTH-l2.tsv, ...

    A line holds source, target and weight, counted from 1. The challenge adds its bias only where
    a sum is not zero; as all its biases are negative and values are clamped at 0 from below, adding
    it everywhere gives the same values, and so it is done here.

    What was read is kept beside the files, in a checksummed binary file that opens many times as
    fast, and is read anew when a file changes.

    Args:
        folder: Where the files are.
        dtype: float32 or float64.
        depth: The first so many layers; None for all.
        report: Called with the layers read so far and the layers in all.

    Raises:
        FileFormatError: A file is missing or holds something else.
        OSError: A file cannot be read.
    """
    path, real = Path(folder), real_type(dtype)
    files = _layer_files(path)
    if depth is not None:
        if depth > len(files):
            raise FileFormatError(f"{path}: there are {len(files)} layers, not {depth}.")
        files = files[:depth]
    stamp = [[file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in files]
    cache = path / CACHE
    if cache.exists():
        try:
            settings, layers = _read_cache(cache)
        except EvonetError:
            settings, layers = {}, []
        if settings.get("files") == stamp and layers[0].weight.dtype == real:
            return layers
    width = int(_LAYER.fullmatch(files[0].name)[1])  # type: ignore[index]
    layers = []
    for i, file in enumerate(files):
        layers.append(_read_tsv(file, width, real))
        if report is not None:
            report(i + 1, len(files))
    with suppress(OSError):  # a folder that cannot be written to is read again the next time
        save_layers(cache, layers, {"files": stamp})
    return layers


def _layer_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise FileFormatError(f"{folder}: expected a folder with files nWIDTH-l1.tsv and so on.")
    found = {
        (int(match[1]), int(match[2])): file
        for file in folder.iterdir()
        if (match := _LAYER.fullmatch(file.name))
    }
    widths = sorted({width for width, _ in found})
    if len(widths) != 1 or not 1 <= widths[0] <= MOST_WIDTH:
        raise FileFormatError(
            f"{folder}: expected files nWIDTH-l1.tsv, nWIDTH-l2.tsv, ... of one width, "
            f"found widths {show(widths)}."
        )
    numbers = sorted(number for _, number in found)
    if numbers != list(range(1, len(numbers) + 1)):
        missing = next(i for i, number in enumerate(numbers, 1) if i != number)
        raise FileFormatError(f"{folder}: layer {missing} is missing.")
    return [found[widths[0], number] for number in numbers]


def read_triples(path: Path, rows: int, columns: int) -> tuple[Any, Any, Any]:
    """Reads lines of row, column and number, counted from 1; rows and columns are the largest.

    Returns:
        Rows and columns, counted from 0, and numbers.

    Raises:
        FileFormatError: A line is something else, or names what does not exist.
        OSError: The file cannot be read.
    """
    data = read_bytes(path, MOST_BYTES)
    if not data.strip():
        raise FileFormatError(f"{path}: the file is empty.")
    try:
        table = np.loadtxt(io.BytesIO(data), dtype=np.float64, ndmin=2, comments=None)
    except (ValueError, OverflowError, UnicodeDecodeError) as error:
        reason = str(error).split(";")[0].splitlines()[0]
        raise FileFormatError(f"{path}: {reason}.") from None
    if table.shape[1] != 3:
        raise FileFormatError(
            f"{path}: lines have {table.shape[1]} columns. Expected row, column and number."
        )
    for column, most, what in ((0, rows, "row"), (1, columns, "column")):
        at = table[:, column]
        bad = np.flatnonzero(~((at >= 1) & (at <= most) & (at == np.floor(at))))
        if len(bad):
            raise FileFormatError(
                f"{path}: line {int(bad[0]) + 1}: {what} {at[bad[0]]:g} is not a whole number from "
                f"1 to {most}."
            )
    bad = np.flatnonzero(~np.isfinite(table[:, 2]))
    if len(bad):
        raise FileFormatError(f"{path}: line {int(bad[0]) + 1}: {table[bad[0], 2]} is not finite.")
    place = table[:, :2].astype(np.int64) - 1
    return place[:, 0], place[:, 1], table[:, 2]


def _read_tsv(path: Path, width: int, dtype: RealType) -> Layer:
    source, target, weight = read_triples(path, width, width)
    place = target * width + source
    order = np.argsort(place, kind="stable")
    place = place[order]
    twice = np.flatnonzero(place[1:] == place[:-1])
    if len(twice):
        line = int(order[twice[0] + 1]) + 1
        raise FileFormatError(f"{path}: line {line}: this connection is there already.")
    return Layer(
        width,
        np.searchsorted(target[order], np.arange(width + 1)).astype(np.int64),
        source[order].astype(np.int32),
        weight[order].astype(dtype),
        np.full(width, challenge_bias(width), dtype),
        clamp_id(),
    )


def save_layers(
    path: str | os.PathLike[str], layers: list[Layer], settings: dict[str, Any] | None = None
) -> None:
    """Writes layers to one checksummed binary file.

    Args:
        path: The file to replace or create.
        layers: From the first to the last.
        settings: JSON values to keep beside them.

    Raises:
        OSError: The file cannot be written.
    """
    names = [ACTIVATION_TABLE[layer.activation].name for layer in layers]
    arrays = {
        "width": np.array([layers[0].num_inputs, *(la.num_nodes for la in layers)], np.int64),
        "start": np.concatenate([np.diff(layer.start) for layer in layers]),
        "source": np.concatenate([layer.source for layer in layers]),
        "weight": np.concatenate([layer.weight for layer in layers]),
        "bias": np.concatenate([layer.bias for layer in layers]),
    }
    write_tensors(path, FORMAT, VERSION, {**(settings or {}), "activation": names}, arrays)


def load_layers(path: str | os.PathLike[str]) -> list[Layer]:
    """Reads layers that `save_layers` wrote.

    Raises:
        FileFormatError: The file is damaged, or holds something else.
        OSError: There is no such file, or it cannot be read.
    """
    return _read_cache(Path(path))[1]


def _read_cache(path: Path) -> tuple[dict[str, Any], list[Layer]]:
    settings, arrays = read_tensors(path, FORMAT, VERSION, ARRAYS)
    try:
        return settings, list(_parts(settings, arrays))
    except (EvonetError, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise FileFormatError(f"{path}: {error}") from None


def _parts(settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Iterator[Layer]:
    """Cuts joined arrays into layers, and checks what a checksum cannot."""
    width, names = arrays["width"].tolist(), settings["activation"]
    depth = len(width) - 1
    if depth < 1 or len(names) != depth or min(width) < 1 or max(width) > MOST_WIDTH:
        raise ValueError("its widths and activations do not describe layers.")
    nodes, links = sum(width[1:]), len(arrays["source"])
    degree = arrays["start"]
    shapes = (degree.shape, arrays["bias"].shape, arrays["weight"].shape)
    if shapes != ((nodes,), (nodes,), (links,)) or degree.min() < 0 or degree.sum() != links:
        raise ValueError("its arrays do not fit each other.")
    node = link = 0
    for inputs, outputs, name in zip(width, width[1:], names, strict=False):
        start = np.zeros(outputs + 1, np.int64)
        np.cumsum(degree[node : node + outputs], out=start[1:])
        part = slice(link, link + int(start[-1]))
        source, weight = arrays["source"][part], arrays["weight"][part]
        bias = arrays["bias"][node : node + outputs]
        if len(source) and not (source.min() >= 0 and source.max() < inputs):
            raise ValueError("a link reads a node that does not exist.")
        first = np.zeros(len(source), np.bool_)
        first[start[:-1][start[:-1] < len(source)]] = True
        if not (first[1:] | (np.diff(source) > 0)).all():
            raise ValueError("the links of a node do not ascend.")
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            raise ValueError("a number is not finite.")
        found = clamp_id() if name == CLAMP else activation_id(name)
        yield Layer(inputs, start, source, weight, bias, found)
        node, link = node + outputs, part.stop


def load_pruned(
    path: str | os.PathLike[str],
    activation: str | Sequence[str] = "relu",
    dtype: DTypeLike = np.float32,
) -> list[Layer]:
    """Reads the linear layers of a safetensors file: NAME.weight [outputs, inputs] and NAME.bias.

    Layers are ordered by name, with numbers in them read as numbers.

    Args:
        path: The file.
        activation: The activation of all layers, or of each.
        dtype: float32 or float64.

    Raises:
        FileFormatError: The file is damaged, or holds something else.
        OSError: There is no such file, or it cannot be read.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    data = read_bytes(path, 1 << 34)
    try:
        tensors = load(data)
        ordered = dict(sorted(tensors.items(), key=lambda item: _natural(item[0])))
        return read_layers(ordered, None, activation, real_type(dtype))
    except (SafetensorError, EvonetError, ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{path}: {error}") from None


def _natural(name: str) -> list[tuple[int, str]]:
    parts = re.split(r"(\d{1,18})", name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
