"""The NumPy twin of `kernels/images/convolution.h`: one window's term after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.backends.reference.functions import activate
from evonet.numerics.elementary import fused

Array = npt.NDArray[Any]


def convolve(x: Array, weights: Array, bias: Array, stride: int, padding: int) -> Array:
    """Adds up windows in the order of the kernels, and the bias.

    Args:
        x: [B, C, H, W].
        weights: [O, C, kernel height, kernel width].
        bias: [O].
        stride: Pixels from one window to the next.
        padding: Zeros on every side.

    Returns:
        [B, O, H, W] what activations are applied to.
    """
    num_outputs, channels, rows, columns = weights.shape
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    height = (x.shape[2] - rows) // stride + 1
    width = (x.shape[3] - columns) // stride + 1
    total = np.zeros((len(x), num_outputs, height, width), x.dtype)
    with np.errstate(all="ignore"):
        for row, column, channel in np.ndindex(rows, columns, channels):
            down = slice(row, row + (height - 1) * stride + 1, stride)
            across = slice(column, column + (width - 1) * stride + 1, stride)
            inputs = x[:, channel, down, across][:, None]
            by = weights[:, channel, row, column][None, :, None, None]
            # Zeros contribute nothing, so that -0 cannot either.
            added = fused(inputs, by, total) if x.dtype == np.float32 else inputs * by + total
            total = np.where(inputs == 0, total, added)
        finished: Array = (total + bias[None, :, None, None]) + x.dtype.type(0)
        return finished


def pool(x: Array, size: int, stride: int, kind: str) -> Array:
    """Joins squares of pixels [B, O, H, W], row by row."""
    height = (x.shape[2] - size) // stride + 1
    width = (x.shape[3] - size) // stride + 1
    joined: Array | None = None
    with np.errstate(all="ignore"):
        for row, column in np.ndindex(size, size):
            down = slice(row, row + (height - 1) * stride + 1, stride)
            across = slice(column, column + (width - 1) * stride + 1, stride)
            here = x[:, :, down, across]
            if joined is None:
                joined = here.copy()
            elif kind == "max":
                joined = np.where(here > joined, here, joined)
            else:
                joined = joined + here
        assert joined is not None
        return joined / x.dtype.type(size * size) if kind == "average" else joined


def activate_maps(activation: int, z: Array) -> Array:
    """Applies an activation to maps."""
    return activate(activation, z.reshape(-1)).reshape(z.shape)
