"""The way back through a front: from derivatives by features to those by weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from evonet.backends.reference import images as reference
from evonet.images.layers import Geometry
from evonet.images.weights import Arrays
from evonet.numerics.elementary import canonical

Array = npt.NDArray[Any]


def add_in_order(terms: Array) -> Array:
    """Adds up [P, ...] over genomes, one after the other, so that the bits are always the same."""
    total = np.zeros(terms.shape[1:], terms.dtype)
    with np.errstate(all="ignore"):
        for term in terms:
            total += term
    return total


class Reversal(NamedTuple):
    """What a front differentiates; `ConvFront.gradients` describes the rest.

    Attributes:
        layers: The front's.
        weights: Their weights and biases.
        x: [B, C, H, W] images.
        d: [B, O, H, W] the derivatives by their features.
        inputs: Whether to differentiate by the images, too.
        channels_last: Whether x and d are [B, H, W, channels].
    """

    layers: Sequence[Geometry]
    weights: Arrays
    x: Array
    d: Array
    inputs: bool
    channels_last: bool


def differentiate_by_kernel(kernel: Any, call: Reversal) -> dict[str, Array]:
    """Lets the front of a backend differentiate."""
    x, weights = call.x, call.weights
    d_weights = [np.empty(w.transpose(0, 2, 3, 1).shape, w.dtype) for w, _ in weights]
    d_biases = [np.empty_like(b) for _, b in weights]
    d_images = np.empty_like(x) if call.inputs else np.empty((0, 1, 1, 1), x.dtype)
    kernel.gradient(x, call.d, call.channels_last, d_weights, d_biases, d_images)
    found = {}
    for i, (of_weights, of_biases) in enumerate(zip(d_weights, d_biases, strict=True)):
        found[f"{i}.weight"] = np.ascontiguousarray(of_weights.transpose(0, 3, 1, 2))
        found[f"{i}.bias"] = of_biases
    if call.inputs:
        found["images"] = d_images
    return found


def differentiate_by_reference(call: Reversal) -> dict[str, Array]:
    """Differentiates one layer after the other in plain NumPy, with the same bits."""
    layers, weights, x, d, inputs, channels_last = call
    if channels_last:
        x, d = x.transpose(0, 3, 1, 2), d.transpose(0, 3, 1, 2)
    kept = []
    for layer, (weight, bias) in zip(layers, weights, strict=True):
        z = reference.convolve(x, weight, bias, layer.stride, layer.padding)
        y = reference.activate_maps(layer.activation, z)
        kept.append((x, z, y))
        x, pool = y, layer.pool
        if pool is not None:
            assert pool.stride is not None
            x = reference.pool(y, pool.size, pool.stride, pool.kind)
    found: dict[str, Array] = {}
    for i in reversed(range(len(layers))):
        layer, (weight, _), (x, z, y) = layers[i], weights[i], kept[i]
        if layer.pool is not None:
            assert layer.pool.stride is not None
            d = reference.unpool(y, d, layer.pool.size, layer.pool.stride, layer.pool.kind)
        d = reference.scale_by_slopes(layer.activation, z, y, d)
        kernel = weight.shape[2], weight.shape[3]
        found[f"{i}.weight"] = reference.window_slopes(x, d, kernel, layer.stride, layer.padding)
        found[f"{i}.bias"] = reference.bias_slopes(d)
        if i > 0 or inputs:
            d = reference.spread_windows(d, weight, x.shape, layer.stride, layer.padding)
    named = {name: found[name] for name in sorted(found, key=lambda n: int(n.split(".")[0]))}
    if inputs:
        d = canonical(d + d.dtype.type(0))
        named["images"] = d.transpose(0, 2, 3, 1).copy() if channels_last else d
    return named
