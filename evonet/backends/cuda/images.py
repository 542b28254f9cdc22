"""Fronts for images on the first GPU: weights stay there, images and features travel."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.compiler import functions_define
from evonet.backends.cuda.discovery import usable_devices
from evonet.backends.cuda.image_gradient import ImageReverse, Steps, map_steps
from evonet.backends.cuda.layout import real_name
from evonet.backends.cuda.resident import Resident
from evonet.backends.cuda.shard import Chunks
from evonet.errors import DeviceMemoryError, ShapeError
from evonet.functions.registry import ACTIVATION_IDS, ACTIVATIONS

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray

THREADS: Final = 128
MAP_THREADS: Final = 256
THREAD_NBYTES: Final = 16  # of the weights that a thread loads at once
SUM_NBYTES: Final = 8 << 10  # of the sums of a block, so that five blocks share a multiprocessor
PART_NBYTES: Final = 16 << 10  # of the non-zeros that it has packed at a time
NBYTES_AT_ONCE: Final = 256 << 20  # of the maps of images that are there together
MOST_BLOCKS: Final = 2**31 - 1
IDENTITY: Final = ACTIVATION_IDS["identity"]

Rows = list[tuple[int, int, int, int, int]]


@dataclasses.dataclass(frozen=True)
class ConvLaunch:
    """How one layer is launched: the sizes that `convolve.cu` takes.

    Attributes:
        channels: Of the input; rows and columns have their padding.
        lanes: Threads that share a window; each has some channels of the output.
        tile: Outputs of a block, after pooling: rows and columns.
        group: Windows that it has sums of at a time: rows and columns.
        part: Numbers that it packs at a time, a multiple of 32.
    """

    channels: int
    rows: int
    columns: int
    num_outputs: int
    kernel: tuple[int, int]
    stride: int
    padding: int
    activation: int
    pool: int
    pool_size: int
    pool_stride: int
    out: tuple[int, int]
    lanes: int
    vector: int
    tile: tuple[int, int]
    group: tuple[int, int]
    part: int
    itemsize: int

    @property
    def map_size(self) -> int:
        """Numbers of a map of the input."""
        return self.rows * self.columns * self.channels

    @property
    def conv(self) -> tuple[int, int]:
        """Rows and columns before pooling."""
        sides = zip((self.rows, self.columns), self.kernel, strict=True)
        rows, columns = ((side - own) // self.stride + 1 for side, own in sides)
        return rows, columns

    @property
    def taps(self) -> int:
        """Terms of a sum."""
        return self.kernel[0] * self.kernel[1] * self.channels

    @property
    def block_channels(self) -> int:
        """Channels of a block."""
        return self.lanes * self.vector

    @property
    def num_blocks(self) -> int:
        """Blocks that share the channels of the output."""
        return -(-self.num_outputs // self.block_channels)

    @property
    def tiles(self) -> int:
        """Tiles of an image."""
        return -(-self.out[0] // self.tile[0]) * -(-self.out[1] // self.tile[1])

    @property
    def windows(self) -> int:
        """Windows that all tiles of an image add up; pools may share some."""
        total = 1
        for size, tile in zip(self.out, self.tile, strict=True):
            ends = [min(tile, size - first) for first in range(0, size, tile)]
            total *= sum((n - 1) * self.pool_stride + self.pool_size for n in ends)
        return total

    @property
    def shared_mem(self) -> int:
        """Bytes of a block: sums, outputs, non-zeros, masks and counts."""
        numbers = self.group[0] * self.group[1] + self.tile[0] * self.tile[1]
        entries = self.part * 2 * self.itemsize
        return numbers * self.block_channels * self.itemsize + entries + 8 * (self.part // 32 + 1)


def plan_layer(
    shape: tuple[int, int, int],
    weight_shape: tuple[int, ...],
    sizes: Sequence[int],
    itemsize: int,
) -> ConvLaunch:
    """Chooses tiles for a layer.

    Args:
        shape: (C, H, W) of its input, without padding.
        weight_shape: [O, kernel height, kernel width, C].
        sizes: Stride, padding, activation, pool, its size and stride.
        itemsize: Bytes of a number.

    Raises:
        ShapeError: A map or window has 2^31 numbers or more.
    """
    stride, padding, activation, pool, pool_size, pool_stride = (int(n) for n in sizes)
    outputs, kernel_rows, kernel_columns, channels = weight_shape
    rows, columns = (n + 2 * padding for n in shape[1:])
    conv = ((rows - kernel_rows) // stride + 1, (columns - kernel_columns) // stride + 1)
    out = tuple((n - pool_size) // pool_stride + 1 for n in conv)
    vector = THREAD_NBYTES // itemsize
    lanes = 1
    while lanes < 32 and lanes * vector < outputs:
        lanes *= 2
    most = max(1, SUM_NBYTES // (lanes * vector * itemsize))
    tile, group = _choose_tile((out[0], out[1]), pool_size, pool_stride, most)
    reach = [(n - 1) * stride + k for n, k in zip(group, weight_shape[1:3], strict=True)]
    numbers = reach[0] * reach[1] * channels
    part = min(-(-numbers // 32) * 32, PART_NBYTES // (2 * itemsize))
    launch = ConvLaunch(
        channels=channels,
        rows=rows,
        columns=columns,
        num_outputs=outputs,
        kernel=(kernel_rows, kernel_columns),
        stride=stride,
        padding=padding,
        activation=activation,
        pool=pool,
        pool_size=pool_size,
        pool_stride=pool_stride,
        out=(out[0], out[1]),
        lanes=lanes,
        vector=vector,
        tile=tile,
        group=group,
        part=part,
        itemsize=itemsize,
    )
    if max(launch.map_size, launch.taps) >= 2**31:
        raise ShapeError(
            f"a map of {rows} x {columns} pixels and {channels} channels has 2^31 numbers or more, "
            "padding included. Use smaller images or fewer channels."
        )
    return launch


def _choose_tile(
    out: tuple[int, int], pool_size: int, pool_stride: int, most: int
) -> tuple[tuple[int, int], tuple[int, int]]:
    """A tile of outputs as square as can be, and the windows of it that are summed together."""

    def windows(n: int) -> int:
        return (n - 1) * pool_stride + pool_size

    tile = [1, 1]
    grows = True
    while grows:
        grows = False
        for axis in (0, 1) if tile[0] < tile[1] else (1, 0):
            other = windows(tile[1 - axis])
            if tile[axis] < out[axis] and windows(tile[axis] + 1) * other <= most:
                tile[axis] += 1
                grows = True
                break
    rows, columns = windows(tile[0]), windows(tile[1])
    if rows * columns > most:  # one large pool: whole rows of it, or parts of a row
        columns = min(columns, most)
        rows = max(1, most // columns) if columns == windows(tile[1]) else 1
    return (tile[0], tile[1]), (rows, columns)


class CudaFront:
    """Layers of convolutions on a GPU, as `ImageFront32` and `ImageFront64` are on the processor.

    Raises:
        DeviceError: No GPU works here.
        ShapeError: A map is too large.
    """

    def __init__(
        self,
        channels: int,
        height: int,
        width: int,
        sizes: npt.NDArray[np.int32],
        weights: Sequence[npt.NDArray[Any]],
        biases: Sequence[npt.NDArray[Any]],
    ) -> None:
        """Takes the layers as the native fronts do; they are uploaded by the first call."""
        self._device: Device = usable_devices()[0]
        self._dtype = weights[0].dtype
        shape = (channels, height, width)
        self._input = shape
        self._layers: list[ConvLaunch] = []
        self._plain: list[ConvLaunch] = []  # sums and biases alone, as the way back wants them
        for own, row in zip(weights, sizes, strict=True):
            nbytes, whole = self._dtype.itemsize, row.tolist()
            self._layers.append(plan_layer(shape, own.shape, whole, nbytes))
            self._plain.append(
                plan_layer(shape, own.shape, (*whole[:2], IDENTITY, 0, 1, 1), nbytes)
            )
            shape = (own.shape[0], *self._layers[-1].out)
        self._output = shape
        self._chunks, self._back_chunks = Chunks(), Chunks()
        self._lock = threading.Lock()  # one call at a time
        self.set_weights(weights, biases)

    def set_weights(
        self, weights: Sequence[npt.NDArray[Any]], biases: Sequence[npt.NDArray[Any]]
    ) -> None:
        """Takes other weights and biases of the same shapes; the next call uploads them."""
        self._given = [np.array(own) for own in weights]
        self._arrays = {
            f"{name}{i}": array
            for i, layer in enumerate(self._layers)
            for name, array in _pack_weights(layer, weights[i], biases[i]).items()
        }
        self._uploaded: Resident | None = None

    def __call__(
        self, images: npt.NDArray[Any], out: npt.NDArray[Any], channels_last: bool, path: int
    ) -> Rows:
        """Turns images [B, C, H, W] into features [B, O, H, W], or both with channels last.

        Args:
            images: Of the host, C-contiguous.
            out: Where features go.
            channels_last: Whether images and features are [B, H, W, channels].
            path: 0 to choose for each tile, 1 for sparse, 2 for dense sums.

        Returns:
            For each layer: numbers of its input, those that are not 0, terms of all sums, and
            those that were computed sparsely and densely.

        Raises:
            DeviceMemoryError: Not even one image fits.
        """
        count = len(images)
        if count == 0:
            return [(0, 0, 0, 0, 0)] * len(self._layers)
        tally = np.zeros((len(self._layers) + 1, 3), np.uint64)
        with self._lock:

            def run(begin: int, end: int) -> None:
                part = self._run(images[begin:end], out[begin:end], channels_last, path)
                np.add(tally, part, out=tally)

            most = min(self._most_images(), self._chunks.known(1) or count)
            self._chunks.run(
                0, count, most, 1, run, self._free, lambda _: "Use smaller images or fewer layers."
            )
        rows = []
        for layer, found in zip(self._layers, tally[:-1].tolist(), strict=True):
            terms = count * layer.num_blocks * layer.windows * layer.taps
            rows.append((count * layer.map_size, found[0], terms, found[1], found[2]))
        return rows

    def gradient(
        self,
        images: npt.NDArray[Any],
        adjoint: npt.NDArray[Any],
        channels_last: bool,
        d_weights: Sequence[npt.NDArray[Any]],
        d_biases: Sequence[npt.NDArray[Any]],
        d_images: npt.NDArray[Any],
    ) -> None:
        """Takes derivatives by features to those by weights, biases and images.

        Args:
            images: [B, C, H, W], of the host, C-contiguous.
            adjoint: [B, O, H, W] the derivatives by their features.
            channels_last: Whether both are [B, H, W, channels].
            d_weights: Where those of weights [O, kernel height, kernel width, C] go.
            d_biases: [O] of each layer.
            d_images: As images; empty if they are not wanted.

        Raises:
            DeviceMemoryError: Not even one image fits.
        """
        count = len(images)
        if count == 0:
            for array in (*d_weights, *d_biases):
                array[:] = 0
            return
        with self._lock:
            try:
                reverse = ImageReverse(self._device, self._layers, self._given, count)
            except DeviceMemoryError:
                self._free()
                reverse = ImageReverse(self._device, self._layers, self._given, count)
            most = min(self._most_images(), self._back_chunks.known(1) or count)

            def run(begin: int, end: int) -> None:
                own = slice(begin, end)
                wanted = d_images[own] if len(d_images) else None
                self._back(reverse, images[own], adjoint[own], channels_last, begin, wanted)

            self._back_chunks.run(
                0, count, most, 1, run, self._free, lambda _: "Use smaller images or fewer layers."
            )
            reverse.finish(d_weights, d_biases)

    def _back(
        self,
        reverse: ImageReverse,
        images: npt.NDArray[Any],
        adjoint: npt.NDArray[Any],
        channels_last: bool,
        begin: int,
        d_images: npt.NDArray[Any] | None,
    ) -> None:
        """Takes images that fit together there and back; all memory comes first.

        Sums of lanes change with the first launches, and a chunk that fails is run again.
        """
        device, count = self._device, len(images)
        weights = self._weights()
        tally = device.upload(np.zeros((len(self._layers) + 1, 3), np.uint64))
        given = device.upload(np.ascontiguousarray(images))
        above = device.upload(np.ascontiguousarray(adjoint))
        found, spare = reverse.room(count), reverse.spare(count)
        of_images = None if d_images is None else device.empty(d_images.shape, self._dtype)
        weights.wait()
        steps = map_steps(self._input, channels_last)
        for i, layer in enumerate(self._layers):
            if i == 0:
                self._fill(layer, given, steps, found[0].maps, tally)
            elif layer.padding:
                self._fill(layer, None, (0, 0, 0, 0), found[i].maps, tally)
        for i, plain in enumerate(self._plain):
            here = found[i]
            arrays = weights.arrays[f"weights{i}"], weights.arrays[f"bias{i}"], here.sums, tally[i:]
            after = map_steps((plain.num_outputs, *plain.out), channels_last=True)
            self._convolve(plain, here.maps, arrays, after, 0, count)
            if i + 1 < len(self._layers):
                reverse.pool(i, here, *_inside(self._layers[i + 1], found[i + 1].maps))
            elif here.chosen is not None:
                reverse.pool(i, here, None, (0, 0, 0, 0))
        weights.was_read()
        last = map_steps(self._output, channels_last)
        target = None if of_images is None else (of_images, steps)
        reverse.back(found, above, last, spare, begin, target)
        if of_images is not None and d_images is not None:
            device.download(of_images, d_images)

    def _most_images(self) -> int:
        nbytes = max(sum(layer.map_size for layer in self._layers) * self._dtype.itemsize, 1)
        blocks = max(n.tiles * n.num_blocks for n in (*self._layers, *self._plain))
        return max(1, min(NBYTES_AT_ONCE // nbytes, MOST_BLOCKS // blocks))

    def _free(self) -> None:
        self._uploaded = None
        self._device.release_memory()

    def _weights(self) -> Resident:
        if self._uploaded is None:
            upload = self._device.upload
            arrays = {name: upload(array) for name, array in self._arrays.items()}
            self._uploaded = Resident(self._device, arrays)
        return self._uploaded

    def _run(
        self, images: npt.NDArray[Any], out: npt.NDArray[Any], channels_last: bool, path: int
    ) -> npt.NDArray[np.uint64]:
        """Runs images that fit together; all memory is there before the first launch."""
        device, count = self._device, len(images)
        weights = self._weights()
        tally = device.upload(np.zeros((len(self._layers) + 1, 3), np.uint64))
        given = device.upload(np.ascontiguousarray(images))
        maps = [
            device.empty((count, layer.rows, layer.columns, layer.channels), self._dtype)
            for layer in self._layers
        ]
        features = device.empty(out.shape, self._dtype)
        weights.wait()
        self._fill(self._layers[0], given, map_steps(self._input, channels_last), maps[0], tally)
        for layer, padded in zip(self._layers[1:], maps[1:], strict=True):
            if layer.padding:
                self._fill(layer, None, (0, 0, 0, 0), padded, tally)
        for i, layer in enumerate(self._layers):
            if i + 1 < len(self._layers):
                target, steps = _inside(self._layers[i + 1], maps[i + 1])
            else:
                steps, target = map_steps(self._output, channels_last), features
            arrays = weights.arrays[f"weights{i}"], weights.arrays[f"bias{i}"], target, tally[i:]
            self._convolve(layer, maps[i], arrays, steps, path, count)
        weights.was_read()
        device.download(features, out)
        found: npt.NDArray[np.uint64] = np.empty(tally.shape, np.uint64)
        device.download(tally, found)
        return found

    def _fill(
        self,
        layer: ConvLaunch,
        images: DeviceArray | None,
        steps: Steps,
        maps: DeviceArray,
        tally: DeviceArray,
    ) -> None:
        numbers = int(np.prod(maps.shape))
        inner = (layer.rows - 2 * layer.padding, layer.columns - 2 * layer.padding)
        self._device.launch(
            "image_map",
            {"REAL": real_name(self._dtype)},
            (-(-numbers // MAP_THREADS),),
            (MAP_THREADS,),
            (
                np.intp(0) if images is None else images,
                maps,
                tally,
                *map(np.int64, (numbers, *steps)),
                *map(np.int32, (*inner, layer.channels, layer.padding)),
            ),
        )

    def _convolve(
        self,
        layer: ConvLaunch,
        maps: DeviceArray,
        arrays: tuple[DeviceArray, ...],
        steps: Steps,
        path: int,
        count: int,
    ) -> None:
        custom = f"a{layer.activation}" if layer.activation >= len(ACTIVATIONS) else ""
        numbers = (
            *(layer.columns * layer.channels, layer.channels, layer.num_outputs, *layer.kernel),
            *(layer.stride, layer.activation, layer.pool, layer.pool_size, layer.pool_stride),
            *(*layer.out, *layer.tile, *layer.group, layer.lanes, layer.part, path, count),
        )
        self._device.launch(
            "convolve",
            {
                "REAL": real_name(self._dtype),
                "VECTOR": layer.vector,
                **functions_define(custom),
            },
            (layer.tiles * layer.num_blocks * count,),
            (THREADS,),
            (
                maps,
                *arrays,
                *map(np.int64, (layer.map_size, *steps)),
                *map(np.int32, numbers),
            ),
            layer.shared_mem,
        )


def _inside(layer: ConvLaunch, maps: DeviceArray) -> tuple[DeviceArray, Steps]:
    """The first pixel inside the padding of a layer's maps, and how they lie in memory."""
    steps = map_steps((layer.channels, layer.rows, layer.columns), channels_last=True)
    return maps.reshape(-1)[layer.padding * (steps[1] + steps[2]) :], steps


def _pack_weights(
    layer: ConvLaunch, weights: npt.NDArray[Any], bias: npt.NDArray[Any]
) -> dict[str, npt.NDArray[Any]]:
    """Weights as [blocks, taps, channels of a block] and biases as [blocks, channels]."""
    whole = layer.num_blocks * layer.block_channels
    packed = np.zeros((whole, layer.taps), weights.dtype)
    packed[: layer.num_outputs] = weights.reshape(layer.num_outputs, -1)
    shape = layer.num_blocks, layer.block_channels, layer.taps
    biases = np.zeros(whole, bias.dtype)
    biases[: layer.num_outputs] = bias
    return {
        "weights": np.ascontiguousarray(packed.reshape(shape).transpose(0, 2, 1)),
        "bias": biases,
    }
