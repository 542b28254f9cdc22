"""Reads `[task.front]`: the convolutions in front of a task's networks, as a config names them.

    [task.front]
    seed = 0                        # optional
    weights = "front.safetensors"   # optional

    [[task.front.layers]]
    channels = 16
    kernel = 3
    padding = 1
    pool = 2

    [[task.front.layers]]
    channels = 32
    pool = { size = 2, stride = 2, kind = "average" }

Only `layers` is required, and of a layer only `channels`; everything else has the defaults of
`Conv` and `Pool`. `weights` names a file of arrays in PyTorch's layout; without it they are drawn.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.errors import EvonetError, FileFormatError, OptionError, ShapeError, check_seed
from evonet.files.regular import open_regular
from evonet.images.front import ConvFront
from evonet.images.layers import Conv, Pool
from evonet.messages import did_you_mean, name, show

KEYS: Final = ("layers", "seed", "weights")
LAYER_KEYS: Final = tuple(field.name for field in dataclasses.fields(Conv))
POOL_KEYS: Final = tuple(field.name for field in dataclasses.fields(Pool))
MOST_LAYERS: Final = 100


def front_from_table(
    table: object,
    input_shape: tuple[int, int, int],
    seed: int = 0,
    *,
    dtype: npt.DTypeLike = np.float32,
    backend: str = "auto",
    threads: int = 0,
) -> ConvFront:
    """Makes the front that a table describes.

    Args:
        table: What `[task.front]` holds, or an equal mapping.
        input_shape: (C, H, W) of an image.
        seed: For weights that are drawn where the table has no seed.
        dtype: float32 or float64.
        backend: As for `ConvFront`.
        threads: As for `ConvFront`.

    Raises:
        OptionError: The table has an unknown key or a value that is not allowed, a layer does not
            fit its maps, or a file of weights does not fit the layers. The message starts with
            the key, such as "front.layers[1].kernel", and the error's `option` is "front".
        FileNotFoundError: There is no such file of weights.
    """
    if not isinstance(table, Mapping):
        raise _refusal("front", f"= {show(table)} must be a table with layers.")
    _check_keys("front", table, KEYS)
    layers = layers_from_list(table.get("layers"))
    try:
        own_seed = check_seed(table.get("seed", seed))
        return ConvFront(
            layers,
            input_shape,
            weights=_read_file(table["weights"]) if "weights" in table else None,
            seed=own_seed,
            dtype=dtype,
            backend=backend,
            threads=threads,
        )
    except (OptionError, ShapeError) as error:
        if isinstance(error, OptionError) and error.option == "front":
            raise
        raise _refusal("front", f": {error}") from error


def layers_from_list(found: object) -> tuple[Conv, ...]:
    """Reads `layers`, a list of tables.

    Raises:
        OptionError: As for `front_from_table`.
    """
    if not isinstance(found, Sequence) or isinstance(found, str) or not found:
        raise _refusal(
            "front.layers",
            f"= {show(found)} must be a list of tables, such as [{{channels = 16, pool = 2}}]."
            if found is not None
            else "is missing: a list of tables, such as [{channels = 16, pool = 2}].",
        )
    if len(found) > MOST_LAYERS:
        raise _refusal("front.layers", f"has {len(found)} layers. Allowed: {MOST_LAYERS}.")
    return tuple(_layer(f"front.layers[{i}]", layer) for i, layer in enumerate(found))


def table_from_layers(layers: Iterable[Conv]) -> dict[str, Any]:
    """The table of a front with these layers, so that `front_from_table` gives them back."""
    rows = []
    for layer in layers:
        row: dict[str, Any] = {"channels": layer.channels, "kernel": list(layer.kernel_size)}
        row |= {"stride": layer.stride, "padding": layer.padding, "activation": layer.activation}
        if (pool := layer.pooling) is not None:
            row["pool"] = {
                "size": pool.size,
                "stride": pool.size if pool.stride is None else pool.stride,
                "kind": pool.kind,
            }
        rows.append(row)
    return {"layers": rows}


def _layer(key: str, found: object) -> Conv:
    if not isinstance(found, Mapping):
        raise _refusal(key, f"= {show(found)} must be a table, such as {{channels = 16}}.")
    _check_keys(key, found, LAYER_KEYS)
    if "channels" not in found:
        raise _refusal(key, "has no channels.")
    options = dict(found)
    if isinstance(options.get("kernel"), list):
        options["kernel"] = tuple(options["kernel"])
    if "pool" in options:
        options["pool"] = _pool(f"{key}.pool", options["pool"])
    if "kernel" in options and not isinstance(options["kernel"], (int, tuple)):
        raise _refusal(
            f"{key}.kernel", f"= {show(found['kernel'])} must be a side or [height, width]."
        )
    try:
        return Conv(**options)
    except EvonetError as error:
        raise _refusal(key, f": {error}") from error


def _pool(key: str, found: object) -> Pool | int:
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    if not isinstance(found, Mapping):
        raise _refusal(key, f"= {show(found)} must be a side or a table, such as {{size = 2}}.")
    _check_keys(key, found, POOL_KEYS)
    if "size" not in found:
        raise _refusal(key, "has no size.")
    try:
        return Pool(**found)
    except OptionError as error:
        raise _refusal(key, f": {error}") from error


def _read_file(found: object) -> dict[str, npt.NDArray[Any]]:
    if not isinstance(found, (str, Path)):
        raise _refusal("front.weights", f"= {show(found)} must be the path of a file.")
    path = Path(found)
    from safetensors import SafetensorError
    from safetensors.numpy import load

    with open_regular(path) as file:
        content = file.read()
    try:
        arrays = load(content)
    except (SafetensorError, KeyError) as error:
        raise FileFormatError(f"{path}: this is not a safetensors file: {name(error)}") from error
    return dict(sorted(arrays.items(), key=lambda item: _by_numbers(item[0])))


def _by_numbers(text: str) -> list[tuple[int, str]]:
    """Orders "conv.10" behind "conv.2": files have their arrays in no order of layers."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in text.split(".")]


def _check_keys(key: str, table: Mapping[str, object], allowed: Sequence[str]) -> None:
    for found in table:
        if found not in allowed:
            hint = did_you_mean(found, allowed)
            raise _refusal(f"{key}.{name(found)}", f"is not known. {hint}")


def _refusal(key: str, problem: str) -> OptionError:
    joint = "" if problem.startswith(":") else " "
    return OptionError(f"{key}{joint}{problem}", "front")
