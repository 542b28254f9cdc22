"""Compares the derivatives of fronts with PyTorch's, and all SIMD levels with the reference.

    python -m tests.campaigns.images torch [--fronts 1000] [--seed 1]
    python -m tests.campaigns.images bits [--fronts 1000] [--seed 1]

Both take random fronts of one to three layers: kernels of any shape, strides, padding, max and
average pools that touch, overlap or leave gaps, and images with zeros.

`torch` compares features and derivatives by weights, biases and images in float64 with those of
conv2d and autograd (a campaign's dependency only: pip install torch). Distances are relative to the
largest number of the array.

`bits` compares float32 and float64 derivatives on every SIMD level, with 1, 2 and 3 threads, with
those of the reference, bit by bit; some images and adjoints have infinity and NaN.

The exit code is 1 if anything differs by more than 1e-12 (torch) or a bit.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.images import Conv, ConvFront, Pool
from evonet.installation import require_native

Array = npt.NDArray[Any]
ACTIVATIONS = ("relu", "identity", "tanh", "sigmoid")


def draw_front(rng: np.random.Generator, dtype: Any) -> ConvFront:
    """A random front; layers are drawn until they fit."""
    shape = tuple(int(n) for n in (rng.integers(1, 20), rng.integers(3, 20), rng.integers(3, 20)))
    layers: list[Conv] = []
    for _ in range(int(rng.integers(1, 4))):
        size, step = (int(n) for n in rng.integers(1, 4, 2))
        pools = (None, size, Pool(size, step, "average"), Pool(size, step, "max"))
        layer = Conv(
            int(rng.integers(1, 40)),
            (int(rng.integers(1, 5)), int(rng.integers(1, 5))),
            stride=int(rng.integers(1, 3)),
            padding=int(rng.integers(0, 3)),
            activation=str(rng.choice(ACTIVATIONS)),
            pool=pools[int(rng.integers(4))],
        )
        try:
            ConvFront([*layers, layer], shape, dtype=dtype)
        except ValueError:
            continue
        layers.append(layer)
    return ConvFront(layers or [Conv(3, 1)], shape, dtype=dtype, seed=int(rng.integers(2**31)))


def draw_arrays(
    rng: np.random.Generator, front: ConvFront, count: int, special: bool
) -> tuple[Array, Array, dict[str, Array]]:
    """Images, adjoints and weights for a front."""
    x = rng.normal(size=(count, *front.input_shape))
    x[rng.random(x.shape) < rng.choice([0, 0.5, 0.9])] = 0
    d = rng.normal(size=(count, front.num_features))
    if special:
        for array in (x, d):
            places = rng.random(array.shape) < 0.02
            array[places] = rng.choice([np.inf, -np.inf, np.nan, -0.0, 1e-310, 3e38], places.sum())
    arrays = {name: array.copy() for name, array in front.arrays.items()}
    for name in arrays:
        if name.endswith("bias"):
            arrays[name] = rng.normal(size=arrays[name].shape)
    with np.errstate(over="ignore"):
        return x.astype(front.dtype), d.astype(front.dtype), arrays


def torch_derivatives(front: ConvFront, x: Array, d: Array) -> tuple[Array, dict[str, Array]]:
    """Features and derivatives as PyTorch finds them."""
    import torch
    from torch.nn import functional as f

    maps = images = torch.from_numpy(x).requires_grad_()
    tensors = {n: torch.from_numpy(a.copy()).requires_grad_() for n, a in front.arrays.items()}
    for i, layer in enumerate(front.layers):
        weights, bias = tensors[f"{i}.weight"], tensors[f"{i}.bias"]
        maps = f.conv2d(maps, weights, bias, layer.stride, layer.padding)
        if layer.activation == "sigmoid":  # the scales are neat-python's
            maps = torch.sigmoid(5 * maps)
        elif layer.activation == "tanh":
            maps = torch.tanh(2.5 * maps)
        elif layer.activation == "relu":
            maps = torch.relu(maps)
        pool = layer.pooling
        if pool is not None:
            join = f.max_pool2d if pool.kind == "max" else f.avg_pool2d
            maps = join(maps, pool.size, pool.stride)
    features = maps.flatten(1)
    features.backward(torch.from_numpy(d))
    found = {name: tensor.grad.numpy() for name, tensor in tensors.items()}
    assert images.grad is not None
    return features.detach().numpy(), {**found, "images": images.grad.numpy()}


def compare_with_torch(count: int, seed: int) -> bool:
    """Prints the largest distances; whether all are small."""
    worst: dict[str, float] = {}
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        front = draw_front(rng, np.float64)
        x, d, arrays = draw_arrays(rng, front, int(rng.integers(1, 40)), False)
        front = front.replace(arrays)
        features, wanted = torch_derivatives(front, x, d)
        found = front.gradients(x, d, inputs=True)
        pairs = {"features": (front(x), features)}
        pairs |= {name.split(".")[-1]: (found[name], wanted[name]) for name in wanted}
        for name, (ours, theirs) in pairs.items():
            size = max(float(np.abs(theirs).max(initial=0)), 1e-300)
            distance = float(np.abs(ours - theirs).max(initial=0)) / size
            worst[name] = max(worst.get(name, 0.0), distance)
    print(f"{count} fronts, largest distance by the largest derivative of the array:")
    for name, distance in worst.items():
        print(f"  {name:10} {distance:.1e}")
    return max(worst.values()) <= 1e-12


def compare_bits(count: int, seed: int) -> bool:
    """Prints how many derivatives were compared; whether all are equal."""
    numbers = 0
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        dtype = np.float32 if number % 2 else np.float64
        front = draw_front(rng, dtype)
        x, d, arrays = draw_arrays(rng, front, int(rng.integers(1, 5)), number % 3 == 0)
        options: dict[str, Any] = {"weights": arrays, "dtype": dtype}
        oracle = ConvFront(front.layers, front.input_shape, backend="reference", **options)
        wanted = oracle.gradients(x, d, inputs=True)
        for simd in require_native().simd_levels():
            os.environ["EVONET_SIMD"] = simd
            for threads in (1, 2, 3):
                here = ConvFront(
                    front.layers, front.input_shape, backend="cpu", threads=threads, **options
                )
                found = here.gradients(x, d, inputs=True)
                for name, array in wanted.items():
                    numbers += array.size
                    if found[name].tobytes() != array.tobytes():
                        print(f"front {number}, {simd}, {threads} threads: {name} differs")
                        return False
    print(f"{count} fronts, {numbers:,} numbers, all bits equal")
    return True


def main() -> None:
    """Runs one of the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["torch", "bits"])
    parser.add_argument("--fronts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    compare = compare_with_torch if options.what == "torch" else compare_bits
    sys.exit(0 if compare(options.fronts, options.seed) else 1)


if __name__ == "__main__":
    main()
