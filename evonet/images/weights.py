"""Where the weights of a front come from: chance, or arrays that somebody trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.errors import OptionError, ShapeError
from evonet.images.layers import Geometry
from evonet.messages import show
from evonet.numerics.philox import Purpose, philox, uniform

Arrays = list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]


def draw_weights(layers: Sequence[Geometry], seed: int, dtype: npt.DTypeLike) -> Arrays:
    """Draws weights that keep the size of numbers from layer to layer; biases are 0.

    Uniform within sqrt(6 / n) on either side of 0, for n inputs of a window, as suits `relu`.
    """
    drawn = []
    for i, layer in enumerate(layers):
        count = int(np.prod(layer.weight_shape))
        words = philox(seed, 0, i, Purpose.FRONT, np.arange((count + 3) // 4))
        share = uniform(words).T.reshape(-1)[:count].astype(np.float64)
        limit = np.sqrt(6.0 / np.prod(layer.weight_shape[1:]))
        weights = ((2.0 * share - 1.0) * limit).reshape(layer.weight_shape)
        drawn.append((weights.astype(dtype), np.zeros(layer.weight_shape[0], dtype)))
    return drawn


def read_weights(
    layers: Sequence[Geometry], given: Mapping[str, Any], dtype: npt.DTypeLike
) -> Arrays:
    """Takes weights from named arrays, as PyTorch and safetensors files have them.

    Every array of four dimensions is a convolution's, in the order of the mapping, with the name
    of its bias beside it: "features.0.weight" and "features.0.bias". Without a bias it is 0.

    Raises:
        OptionError: There are more or fewer convolutions than layers.
        ShapeError: An array has another shape, or holds something but finite numbers.
    """
    found = {name: np.asarray(array) for name, array in given.items()}
    names = [name for name, array in found.items() if array.ndim == 4]
    if len(names) != len(layers):
        raise OptionError(
            f"weights must have an array of four dimensions for each of the {len(layers)} layers, "
            f"found {len(names)}: {show(', '.join(names))}."
        )
    read = []
    for name, layer in zip(names, layers, strict=True):
        bias = name[: -len("weight")] + "bias" if name.endswith("weight") else ""
        pair = [_checked(name, found[name], layer.weight_shape, dtype)]
        if bias in found:
            pair.append(_checked(bias, found[bias], layer.weight_shape[:1], dtype))
        else:
            pair.append(np.zeros(layer.weight_shape[0], dtype))
        read.append((pair[0], pair[1]))
    return read


def _checked(
    name: str, found: npt.NDArray[Any], shape: tuple[int, ...], dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    if found.shape != shape:
        raise ShapeError(f"{show(name)} must have shape {list(shape)}, found {list(found.shape)}.")
    if found.dtype.kind not in "biuf":
        raise ShapeError(f"{show(name)} must hold real numbers, found {found.dtype}.")
    with np.errstate(over="ignore"):
        copy = np.array(found, dtype)
    if not np.isfinite(copy).all():
        raise ShapeError(f"{show(name)} must hold finite numbers: zeros of a map are skipped.")
    return copy
