"""What a front is made of: convolutions, each with an activation and perhaps a pool behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from evonet.errors import OptionError, ShapeError, check_option, check_whole
from evonet.functions.registry import activation_id

POOLS: Final = ("max", "average")
MOST_SIDE: Final = 1 << 16
MOST_POOL: Final = 64


@dataclass(frozen=True)
class Pool:
    """Joins neighbouring pixels of every channel.

    Attributes:
        size: Side of the square that becomes one pixel.
        stride: From one square to the next; None for squares side by side.
        kind: "max", the largest of them, or "average".
    """

    size: int
    stride: int | None = None
    kind: Literal["max", "average"] = "max"

    def __post_init__(self) -> None:
        check_whole("pool.size", self.size, 1, MOST_POOL)
        if self.stride is not None:
            check_whole("pool.stride", self.stride, 1, MOST_POOL)
        check_option("pool.kind", self.kind, POOLS)


@dataclass(frozen=True)
class Conv:
    """A convolution, its activation, and what pools the result.

    Attributes:
        channels: O, feature maps that it makes.
        kernel: Side of the square window, or its height and width.
        stride: Pixels from one window to the next.
        padding: Zeros around the image, on every side.
        activation: The name of a built-in or custom activation.
        pool: How the maps shrink: a `Pool`, the side of a max pool, or None.
    """

    channels: int
    kernel: int | tuple[int, int] = 3
    stride: int = 1
    padding: int = 0
    activation: str = "relu"
    pool: Pool | int | None = None

    def __post_init__(self) -> None:
        check_whole("channels", self.channels, 1, MOST_SIDE)
        for side in self.kernel_size:
            check_whole("kernel", side, 1, MOST_SIDE)
        check_whole("stride", self.stride, 1, MOST_SIDE)
        check_whole("padding", self.padding, 0, MOST_SIDE)
        activation_id(self.activation)
        if isinstance(self.pool, int):
            check_whole("pool", self.pool, 1, MOST_POOL)

    @property
    def kernel_size(self) -> tuple[int, int]:
        """Height and width of the window."""
        if isinstance(self.kernel, int):
            return self.kernel, self.kernel
        if len(self.kernel) != 2:
            raise OptionError(f"kernel must be a side or (height, width), found {self.kernel}.")
        return self.kernel

    @property
    def pooling(self) -> Pool | None:
        """The pool, if there is one."""
        return Pool(self.pool) if isinstance(self.pool, int) else self.pool


class Geometry(NamedTuple):
    """The sizes of one layer in a front; maps are [channels, height, width]."""

    input_shape: tuple[int, int, int]
    conv_shape: tuple[int, int, int]  # before pooling
    output_shape: tuple[int, int, int]
    weight_shape: tuple[int, int, int, int]  # [O, C, kernel height, kernel width], as in PyTorch
    padding: int
    stride: int
    activation: int
    pool: Pool | None


def plan_layers(layers: Sequence[Conv], input_shape: tuple[int, int, int]) -> list[Geometry]:
    """Follows the sizes of maps through all layers.

    Raises:
        ShapeError: A window or pool is larger than its map.
    """
    planned = []
    channels, height, width = input_shape
    for i, layer in enumerate(layers):
        rows, columns = layer.kernel_size
        pool = layer.pooling
        size = 1 if pool is None else pool.size
        step = 1 if pool is None else pool.stride or pool.size
        inner = (height + 2 * layer.padding, width + 2 * layer.padding)
        if inner[0] < rows or inner[1] < columns:
            raise ShapeError(
                f"layer {i}: a window of {rows} x {columns} pixels does not fit into a map of "
                f"{inner[0]} x {inner[1]}, padding included. Use a smaller kernel or fewer layers."
            )
        conv = ((inner[0] - rows) // layer.stride + 1, (inner[1] - columns) // layer.stride + 1)
        if min(conv) < size:
            raise ShapeError(
                f"layer {i}: a pool of {size} x {size} pixels does not fit into a map of "
                f"{conv[0]} x {conv[1]}. Use a smaller pool or fewer layers."
            )
        out = ((conv[0] - size) // step + 1, (conv[1] - size) // step + 1)
        planned.append(
            Geometry(
                (channels, height, width),
                (layer.channels, *conv),
                (layer.channels, *out),
                (layer.channels, channels, rows, columns),
                layer.padding,
                layer.stride,
                activation_id(layer.activation),
                None if pool is None else Pool(size, step, pool.kind),
            )
        )
        channels, height, width = planned[-1].output_shape
    return planned
