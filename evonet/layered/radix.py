"""Radix networks: the deep sparse networks of the Sparse DNN Graph Challenge, generated.

All layers are equally wide, every node has 32 links of weight 1/16, and the pattern mixes all
inputs within log2(width / 16) layers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
from numpy.typing import DTypeLike

from evonet.errors import OptionError
from evonet.functions.registry import activation_id, register_activation
from evonet.genes.arrays import real_type
from evonet.genes.layers import Layer

# The challenge's bias for each of its widths.
BIASES: Final = {1024: -0.30, 4096: -0.35, 16384: -0.40, 65536: -0.45}
WEIGHT: Final = 1 / 16
# The challenge clamps values to [0, 32]: a custom activation, which costs nothing beside 32 links.
CLAMP: Final = "clamp32"
CLAMP_TEXT: Final = "min(max(x, 0), 32)"


def clamp_id() -> int:
    """The id of the challenge's activation; the first call registers it."""
    register_activation(CLAMP, CLAMP_TEXT)  # for the same text, it stays what it is
    return activation_id(CLAMP)


def challenge_bias(width: int) -> float:
    """The challenge's bias for a width; for other widths that of the next smaller one."""
    return BIASES[max((n for n in BIASES if n <= width), default=1024)]


def radix_layers(
    width: int,
    depth: int,
    dtype: DTypeLike = np.float32,
    *,
    activation: str | None = None,
    seed: int = 0,
) -> Iterator[Layer]:
    """Yields the layers of a radix network, one by one.

    With n = width / 16, node i of a layer feeds the nodes q + n k and (q - s) mod n + n k for k = 0
    to 15, where s is 2 to the power of the layer modulo log2 n, and q = p[i] mod n. The permutation
    p is the identity in the first log2 n layers, and drawn anew for each further log2 n.

    Args:
        width: Nodes of a layer, a power of two of at least 32.
        depth: Layers.
        dtype: float32 or float64.
        activation: The activation of all nodes; None for the challenge's, which clamps to [0, 32].
        seed: Decides the permutations.

    Raises:
        OptionError: The width or depth is not allowed.
    """
    n = width // 16
    if width < 32 or n * 16 != width or n & (n - 1):
        raise OptionError(f"a radix network is 32, 64, 128, ... wide, found {width}.")
    if not 1 <= depth <= 1 << 20:
        raise OptionError(f"a radix network has from 1 to {1 << 20} layers, found {depth}.")
    real = real_type(dtype)
    cycle = n.bit_length() - 1
    chosen = clamp_id() if activation is None else activation_id(activation)
    chance = np.random.RandomState(seed)  # its numbers never change with NumPy's version
    links = 32 * width
    start = np.arange(0, links + 1, 32, dtype=np.int64)
    weight = np.full(links, WEIGHT, real)
    bias = np.full(width, challenge_bias(width), real)
    order: npt.NDArray[np.int64] = np.arange(width)
    for level in range(depth):
        if level and level % cycle == 0:
            order = chance.permutation(width)
        q = order % n
        # The sources of node t: those with q = t mod n, and those with q = t + stride mod n.
        by_q = np.argsort(q, kind="stable").reshape(n, 16)
        residue = np.arange(width) % n
        stride = 1 << (level % cycle)
        source = np.concatenate([by_q[residue], by_q[(residue + stride) % n]], axis=1)
        source.sort(axis=1)
        yield Layer(width, start, source.reshape(-1).astype(np.int32), weight, bias, chosen)
