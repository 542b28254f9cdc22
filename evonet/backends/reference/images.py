"""The NumPy twin of `kernels/images/convolution.h`: one window's term after the other, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.backends.reference.derivatives import slope
from evonet.backends.reference.functions import activate, preactivation
from evonet.backends.reference.gradients import join_lanes
from evonet.backends.reference.loss import LANES
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
        if kind == "average":
            joined = joined / x.dtype.type(size * size)
            joined[np.isnan(joined)] = np.nan
        return joined


def activate_maps(activation: int, z: Array) -> Array:
    """Applies an activation to maps."""
    return activate(activation, z.reshape(-1)).reshape(z.shape)


def unpool(values: Array, d: Array, size: int, stride: int, kind: str) -> Array:
    """Takes the adjoints of pooled maps [B, O, h, w] to those of the values [B, O, H, W].

    The first of the largest values gets all of it, pool by pool in the order of memory.
    """
    adjoint = np.zeros_like(values)
    steps = list(np.ndindex(size, size))
    with np.errstate(all="ignore"):
        for row, column in np.ndindex(*d.shape[2:]):
            more = d[:, :, row, column]
            at = [(row * stride + down, column * stride + across) for down, across in steps]
            if kind == "average":
                more = more / values.dtype.type(size * size)
                chosen = np.full(more.shape, -1)
            else:
                chosen, largest = np.zeros(more.shape, int), values[:, :, at[0][0], at[0][1]]
                for i, (y, x) in enumerate(at[1:], 1):
                    larger = values[:, :, y, x] > largest
                    chosen = np.where(larger, i, chosen)
                    largest = np.where(larger, values[:, :, y, x], largest)
            for i, (y, x) in enumerate(at):
                here = adjoint[:, :, y, x]
                gets = (chosen == i) | (chosen == -1)
                adjoint[:, :, y, x] = np.where(gets, here + more, here)
    return adjoint


def scale_by_slopes(activation: int, z: Array, y: Array, adjoint: Array) -> Array:
    """Takes the adjoints of values y to those of what the activation got, z."""
    flat = [array.reshape(-1) for array in (z, y)]
    with np.errstate(all="ignore"):
        scaled: Array = adjoint * slope(activation, *flat).reshape(z.shape)
        return scaled


def window_slopes(x: Array, dz: Array, kernel: tuple[int, int], stride: int, padding: int) -> Array:
    """The derivatives by weights [O, C, kernel height, kernel width]; see `convolve`.

    Sample b goes to lane b % 32, and a lane adds all pixels of its samples in order. Neither
    inputs nor adjoints that are 0 contribute.

    Args:
        x: [B, C, H, W] the layer's input.
        dz: [B, O, h, w] adjoints of what its activation got.
        kernel: Height and width of a window.
        stride: Pixels from one window to the next.
        padding: Zeros on every side.
    """
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    lanes = np.zeros((dz.shape[1], x.shape[1], *kernel, LANES), x.dtype)
    with np.errstate(all="ignore"):
        for begin in range(0, len(x), LANES):
            group = slice(begin, begin + LANES)
            width = len(x[group])
            for row, column in np.ndindex(*dz.shape[2:]):
                down = slice(row * stride, row * stride + kernel[0])
                across = slice(column * stride, column * stride + kernel[1])
                window = x[group, :, down, across].transpose(1, 2, 3, 0)[None]
                d = dz[group, :, row, column].T[:, None, None, None]
                here = lanes[..., :width]
                counts = (window != 0) & (d != 0)
                lanes[..., :width] = np.where(counts, preactivation(here, d, window), here)
    joined: Array = join_lanes(lanes) + x.dtype.type(0)
    return joined


def bias_slopes(dz: Array) -> Array:
    """The derivatives by biases [O], added up as `window_slopes` does."""
    lanes = np.zeros((dz.shape[1], LANES), dz.dtype)
    with np.errstate(all="ignore"):
        for begin in range(0, len(dz), LANES):
            group = dz[begin : begin + LANES]
            for row, column in np.ndindex(*dz.shape[2:]):
                d, here = group[:, :, row, column].T, lanes[:, : len(group)]
                lanes[:, : len(group)] = np.where(d != 0, here + d, here)
    joined: Array = join_lanes(lanes) + dz.dtype.type(0)
    return joined


def spread_windows(
    dz: Array, weights: Array, shape: tuple[int, ...], stride: int, padding: int
) -> Array:
    """The adjoints of a layer's input [B, C, H, W].

    Terms come in the order of pixels of dz, then of outputs: from the end of a window to its start.
    """
    num_outputs, _, rows, columns = weights.shape
    batch, channels, height, width = shape
    padded = np.zeros((batch, channels, height + 2 * padding, width + 2 * padding), dz.dtype)
    with np.errstate(all="ignore"):
        for row, column in np.ndindex(rows, columns):
            down = rows - 1 - row
            across = columns - 1 - column
            places = (
                slice(down, down + (dz.shape[2] - 1) * stride + 1, stride),
                slice(across, across + (dz.shape[3] - 1) * stride + 1, stride),
            )
            for o in range(num_outputs):
                d = dz[:, o][:, None]
                by = weights[o, :, down, across][None, :, None, None]
                here = padded[:, :, places[0], places[1]]
                more = preactivation(here, np.broadcast_to(d, here.shape), by)
                padded[:, :, places[0], places[1]] = np.where(d != 0, more, here)
    inner: Array = padded[:, :, padding : padding + height, padding : padding + width]
    return inner
