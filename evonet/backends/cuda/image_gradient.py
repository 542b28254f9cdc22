"""The way back through a front on a GPU: from derivatives by features to those by weights.

Images go in chunks that fit; sums of samples stay on the GPU from chunk to chunk, in the 32 lanes
of the tree that joins them at the end. So the bits depend on no chunk.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.compiler import functions_define
from evonet.backends.cuda.layout import real_name
from evonet.functions.registry import ACTIVATIONS

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.backends.cuda.images import ConvLaunch

LANES: Final = 32
THREADS: Final = 256
SUM_THREADS: Final = 128
OUTPUTS: Final = 4  # of a thread that adds up slopes
MAX_POOL: Final = 1

Steps = tuple[int, int, int, int]
Array = npt.NDArray[Any]


def map_steps(shape: tuple[int, int, int], channels_last: bool) -> Steps:
    """Numbers from an image, row, column and channel of (C, H, W) to the next."""
    channels, height, width = shape
    size = channels * height * width
    if channels_last:
        return size, width * channels, channels, 1
    return size, width, 1, height * width


@dataclasses.dataclass(frozen=True)
class LayerImages:
    """What the way there leaves of one layer, for images that fit together.

    Attributes:
        maps: [count, rows, columns, channels], with padding.
        sums: [count, conv rows, conv columns, O] what activations get.
        chosen: [count, out rows, out columns, O] windows of max pools; None without any.
    """

    maps: DeviceArray
    sums: DeviceArray
    chosen: DeviceArray | None


class ImageReverse:
    """Layers on the way back, and the sums of the images that passed them."""

    def __init__(
        self,
        device: Device,
        layers: Sequence[ConvLaunch],
        weights: Sequence[Array],
        num_images: int,
    ) -> None:
        """Uploads weights [O, kernel height, kernel width, C] and makes room for sums."""
        self._device, self._layers = device, layers
        self._dtype = weights[0].dtype
        self._num_lanes = min(num_images, LANES)
        self._weights = [device.upload(np.ascontiguousarray(own)) for own in weights]
        self._lanes = [
            device.empty((self._num_lanes, layer.num_outputs, layer.taps + 1), self._dtype)
            for layer in layers
        ]
        self._sums = [device.empty(lanes.shape[1:], self._dtype) for lanes in self._lanes]

    def room(self, count: int) -> list[LayerImages]:
        """Memory for all layers of some images; its contents are undefined."""
        empty, rooms = self._device.empty, []
        for layer in self._layers:
            maps = (count, layer.rows, layer.columns, layer.channels)
            sums = (count, *layer.conv, layer.num_outputs)
            chosen = None
            if layer.pool == MAX_POOL:
                chosen = empty((count, *layer.out, layer.num_outputs), np.int32)
            rooms.append(LayerImages(empty(maps, self._dtype), empty(sums, self._dtype), chosen))
        return rooms

    def spare(self, count: int) -> list[DeviceArray]:
        """Memory for adjoints: of sums, and of the maps above and below a layer."""
        sums = max(math.prod(layer.conv) * layer.num_outputs for layer in self._layers)
        maps = max(layer.map_size for layer in self._layers)
        return [self._device.empty((count * n,), self._dtype) for n in (sums, maps, maps)]

    def pool(self, index: int, found: LayerImages, out: DeviceArray | None, steps: Steps) -> None:
        """Finishes the sums of a layer: its values go to `out`, its choices into `found`."""
        layer, count = self._layers[index], found.sums.shape[0]
        numbers = count * math.prod(layer.out) * layer.num_outputs
        self._start(
            "image_pool",
            layer.activation,
            numbers,
            (found.sums, _pointer(out), _pointer(found.chosen)),
            (numbers, *steps),
            (layer.num_outputs, *layer.conv, *layer.out, *_pooling(layer)),
        )

    def back(
        self,
        found: Sequence[LayerImages],
        adjoint: DeviceArray,
        steps: Steps,
        spare: Sequence[DeviceArray],
        begin: int,
        d_images: tuple[DeviceArray, Steps] | None,
    ) -> None:
        """Takes the adjoints of features through all layers.

        Args:
            found: What the way there left.
            adjoint: Of the features of these images.
            steps: How it lies in memory.
            spare: As `spare` makes it.
            begin: How many images came before.
            d_images: Where adjoints of images go, and their steps; None if nobody wants them.
        """
        of_sums, *turns = spare
        above, of_above = adjoint, steps
        for index in reversed(range(len(self._layers))):
            layer, here = self._layers[index], found[index]
            count = here.sums.shape[0]
            numbers = count * math.prod(layer.conv) * layer.num_outputs
            self._start(
                "image_adjoint",
                layer.activation,
                numbers,
                (here.sums, above, _pointer(here.chosen), of_sums),
                (numbers, *of_above),
                (layer.num_outputs, *layer.conv, *layer.out, *_pooling(layer)),
            )
            self._add_slopes(index, here.maps, of_sums, count, begin)
            inner = (layer.rows - 2 * layer.padding, layer.columns - 2 * layer.padding)
            if index > 0:
                below, of_below = turns[index % 2], map_steps((layer.channels, *inner), True)
            elif d_images is not None:
                below, of_below = d_images
            else:
                return
            numbers = count * math.prod(inner) * layer.channels
            self._start(
                "image_spread",
                0,
                numbers,
                (of_sums, self._weights[index], below),
                (numbers, *of_below),
                (
                    *(*inner, layer.channels, layer.padding, layer.num_outputs),
                    *(*layer.kernel, layer.stride, *layer.conv, index == 0),
                ),
            )
            above, of_above = below, of_below

    def finish(self, d_weights: Sequence[Array], d_biases: Sequence[Array]) -> None:
        """Joins the lanes and brings the derivatives to the host."""
        for lanes, sums, d_weight, d_bias in zip(
            self._lanes, self._sums, d_weights, d_biases, strict=True
        ):
            numbers = math.prod(sums.shape)
            self._device.launch(
                "image_join",
                {"REAL": real_name(self._dtype)},
                (-(-numbers // SUM_THREADS),),
                (SUM_THREADS,),
                (lanes, sums, np.int64(numbers), np.int32(self._num_lanes)),
            )
            joined = np.empty(sums.shape, self._dtype)
            self._device.download(sums, joined)
            d_weight[:] = joined[:, :-1].reshape(d_weight.shape)
            d_bias[:] = joined[:, -1]

    def _add_slopes(
        self, index: int, maps: DeviceArray, of_sums: DeviceArray, count: int, begin: int
    ) -> None:
        layer = self._layers[index]
        threads = self._num_lanes * (layer.taps + 1)
        numbers = (
            *(count, begin % LANES, begin == 0, self._num_lanes),
            *(layer.columns * layer.channels, layer.channels, layer.num_outputs),
            *(*layer.kernel, layer.stride, *layer.conv),
        )
        self._device.launch(
            "image_slopes",
            {"REAL": real_name(self._dtype)},
            (-(-threads // SUM_THREADS), -(-layer.num_outputs // OUTPUTS)),
            (SUM_THREADS,),
            (maps, of_sums, self._lanes[index], np.int64(layer.map_size), *map(np.int32, numbers)),
        )

    def _start(
        self,
        kernel: str,
        activation: int,
        threads: int,
        arrays: tuple[Any, ...],
        longs: tuple[int, ...],
        ints: tuple[int, ...],
    ) -> None:
        custom = f"a{activation}" if activation >= len(ACTIVATIONS) else ""
        self._device.launch(
            kernel,
            {"REAL": real_name(self._dtype), **functions_define(custom)},
            (-(-threads // THREADS),),
            (THREADS,),
            (*arrays, *map(np.int64, longs), *map(np.int32, ints)),
        )


def _pointer(array: DeviceArray | None) -> Any:
    return np.intp(0) if array is None else array


def _pooling(layer: ConvLaunch) -> tuple[int, int, int, int]:
    return layer.activation, layer.pool, layer.pool_size, layer.pool_stride
