"""Turns images into features, with the zeros of every map skipped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from evonet.backends import resolve_backend
from evonet.backends.arrays import as_type, read_numbers
from evonet.backends.reference import images as reference
from evonet.errors import (
    OptionError,
    ShapeError,
    check_option,
    check_seed,
    check_threads,
    check_whole,
)
from evonet.functions.native import define_natively, define_slopes
from evonet.functions.registry import ACTIVATION_TABLE
from evonet.images.gradients import (
    Reversal,
    add_in_order,
    differentiate_by_kernel,
    differentiate_by_reference,
)
from evonet.images.layers import MOST_SIDE, Conv, Geometry, plan_layers
from evonet.images.weights import draw_weights, read_weights
from evonet.installation import require_native

Path = Literal["auto", "sparse", "dense"]
_PATHS: Final = ("auto", "sparse", "dense")
_POOL_IDS: Final = {None: 0, "max": 1, "average": 2}


class LayerCounts(NamedTuple):
    """What one layer did with a batch.

    Attributes:
        inputs: Numbers that it read, padding included.
        nonzeros: Those of them that were not 0.
        terms: Inputs times windows times output channels, as a dense convolution multiplies.
        multiplied: Terms that were really computed.
        bytes_moved: Of its input, weights and output, each once.
    """

    inputs: int
    nonzeros: int
    terms: int
    multiplied: int
    bytes_moved: int

    @property
    def zero_share(self) -> float:
        """The share of inputs that were 0."""
        return 1.0 - self.nonzeros / self.inputs if self.inputs else 0.0

    @property
    def skipped_share(self) -> float:
        """The share of terms that were skipped."""
        return 1.0 - self.multiplied / self.terms if self.terms else 0.0


class ConvFront:
    """Convolutions in front of networks: images in, features out.

        front = ConvFront([Conv(16, 3, pool=2), Conv(32, 3)], input_shape=(1, 28, 28))
        features = front(images)  # [B, 1, 28, 28] -> [B, front.num_features]

    Convolution, bias, activation and pooling are one pass. Zeros of a map are skipped wherever
    that is faster, tile by tile, and the bits do not depend on it: inputs of 0, of either sign,
    contribute nothing; infinity and NaN are never skipped. Features are in the order of
    `output_shape`, as PyTorch flattens them.

    Attributes:
        layers: The convolutions.
        input_shape: (C, H, W) of an image.
        output_shape: (O, H, W) of an image's features.
        num_features: F, features of one image.
        weights: [(weights [O, C, kernel height, kernel width], biases [O]), ...] of all layers.
    """

    def __init__(
        self,
        layers: Sequence[Conv],
        input_shape: tuple[int, int, int],
        *,
        weights: Mapping[str, Any] | None = None,
        seed: int = 0,
        dtype: npt.DTypeLike = np.float32,
        backend: str = "auto",
        threads: int = 0,
    ) -> None:
        """Makes a front.

        Args:
            layers: At least one convolution.
            input_shape: (C, H, W) of an image.
            weights: Named arrays as PyTorch and safetensors have them; None draws them.
            seed: For the weights that are drawn.
            dtype: float32 or float64.
            backend: "auto", "cuda", "cpu" or "reference".
            threads: Threads to use; 0 for all available.

        Raises:
            OptionError: An option is out of range.
            ShapeError: A layer does not fit the maps before it, or an array does not fit its layer.
        """
        self.layers = tuple(layers)
        if not self.layers:
            raise OptionError("A front needs at least one layer.")
        if len(tuple(input_shape)) != 3:
            raise ShapeError(f"input_shape must be (C, H, W), found {input_shape}.")
        channels, height, width = (check_whole("input_shape", n, 1, MOST_SIDE) for n in input_shape)
        self.input_shape = (channels, height, width)
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise OptionError(f"dtype must be float32 or float64, found {self.dtype}.")
        self._planned = plan_layers(self.layers, self.input_shape)
        self.output_shape = self._planned[-1].output_shape
        self.num_features = math.prod(self.output_shape)
        if weights is None:
            self.weights = draw_weights(self._planned, check_seed(seed), self.dtype)
        else:
            self.weights = read_weights(self._planned, weights, self.dtype)
        self.backend = resolve_backend(backend).name
        self._threads = check_threads(threads)
        self._kernel = self._bind(self.backend)
        self._noted: tuple[Sequence[tuple[int, ...]], int] = ((), 0)

    @property
    def counts(self) -> tuple[LayerCounts, ...]:
        """What each layer did in the last call; empty on the reference backend."""
        rows, num_images = self._noted
        layers = zip(self._planned, self.weights, rows, strict=True) if rows else ()
        return tuple(
            _count(layer, weights.size, row, num_images, self.dtype.itemsize)
            for layer, (weights, _), row in layers
        )

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All weights and biases by name, "0.weight" and "0.bias", as `weights=` takes them."""
        named: dict[str, npt.NDArray[Any]] = {}
        for i, (weights, bias) in enumerate(self.weights):
            named |= {f"{i}.weight": weights, f"{i}.bias": bias}
        return named

    def replace(self, arrays: Mapping[str, Any]) -> ConvFront:
        """A front with the same layers and other weights.

        Args:
            arrays: Named arrays, as for `weights` of a new front.

        Raises:
            EvonetError: As for a new front.
        """
        return ConvFront(
            self.layers,
            self.input_shape,
            weights=arrays,
            dtype=self.dtype,
            backend=self.backend,
            threads=self._threads,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles what it is made of; the kernel belongs to its process."""
        shared = self.input_shape, self.arrays, self.dtype, self.backend, self._threads
        return _unpickle, (self.layers, *shared)

    def __call__(
        self, images: Any, path: Path = "auto", channels_last: bool = False
    ) -> npt.NDArray[Any]:
        """Computes the features of images.

        Args:
            images: [B, C, H, W], or [P, B, C, H, W] with images of its own for each genome.
            path: "sparse" and "dense" force how windows are added up, for measurements; the
                bits are the same.
            channels_last: Whether images are [..., H, W, C], as Gymnasium's are. Features are
                then in the order (H, W, O) too.

        Returns:
            [B, F] or [P, B, F], as networks take them.

        Raises:
            ShapeError: Images have another shape, or are no real numbers.
        """
        check_option("path", path, _PATHS)
        x = self.read_images("images", images, channels_last)
        shape, out = x.shape[-3:], self.output_shape
        if channels_last:
            out = (*out[1:], out[0])
        flat = x.reshape(-1, *shape) if x.ndim == 5 else x
        y = np.empty((len(flat), *out), self.dtype)
        if self._kernel is not None:
            found = self._kernel(flat, y, channels_last, _PATHS.index(path))
            self._noted = found, len(flat)
        elif channels_last:
            y[:] = self._by_reference(flat.transpose(0, 3, 1, 2))[-1].transpose(0, 2, 3, 1)
        else:
            y[:] = self._by_reference(flat)[-1]
        return y.reshape(*x.shape[:-3], self.num_features)

    def gradients(
        self, images: Any, adjoints: Any, *, inputs: bool = False, channels_last: bool = False
    ) -> dict[str, npt.NDArray[Any]]:
        """Differentiates by weights and biases what has these derivatives by the features.

            losses, slopes = network.gradients(front(images), targets, inputs=True)
            found = front.gradients(images, slopes["x"])

        Sums run over samples by one fixed tree and over pixels in their order, so that the bits
        depend on neither threads nor SIMD level nor backend. Adjoints that are 0 contribute
        nothing, whatever they meet, and neither do inputs that are 0. Of a max pool the first of
        the largest gets everything.

        Args:
            images: [B, C, H, W], or [P, B, C, H, W] with images of its own for each genome.
            adjoints: [B, F] or [P, B, F], the derivatives by the features; those of several genomes
                on the same images are added in their order.
            inputs: Whether to differentiate by the images, too.
            channels_last: As for a call; the derivatives by images have that shape, too.

        Returns:
            The derivatives by name, in the shapes of `arrays`; with `inputs` also "images".

        Raises:
            ShapeError: An array has another shape, or holds something but real numbers.
            OptionError: A custom activation has no derivative.
        """
        x = self.read_images("images", images, channels_last)
        d = np.asarray(as_type(read_numbers("adjoints", adjoints, None, "cpu"), self.dtype))
        if d.ndim == 3 and x.ndim == 4:
            d = add_in_order(d)
        if d.shape != (*x.shape[:-3], self.num_features):
            wanted = [*x.shape[:-3], self.num_features]
            raise ShapeError(f"adjoints must have shape {wanted}, found {list(d.shape)}.")
        out = self.output_shape
        if channels_last:
            out = (*out[1:], out[0])
        flat, d = x.reshape(-1, *x.shape[-3:]), d.reshape(-1, *out)
        call = Reversal(self._planned, self.weights, flat, d, inputs, channels_last)
        if self.backend == "cpu":
            ids = [layer.activation for layer in self._planned]
            define_slopes(require_native(), ACTIVATION_TABLE, ids)
        if self._kernel is None:
            found = differentiate_by_reference(call)
        else:
            found = differentiate_by_kernel(self._kernel, call)
        if inputs:
            found["images"] = found["images"].reshape(x.shape)
        return found

    def set_weights(self, arrays: Mapping[str, Any]) -> None:
        """Takes other weights in place; no other thread may use the front meanwhile.

        Raises:
            EvonetError: As for a new front.
        """
        self.weights = read_weights(self._planned, arrays, self.dtype)
        if self._kernel is not None:
            self._kernel.set_weights(*self._kernel_arrays())

    def _kernel_arrays(self) -> tuple[list[npt.NDArray[Any]], list[npt.NDArray[Any]]]:
        """Weights [O, kernel height, kernel width, C] and biases [O] of all layers."""
        weights = [np.ascontiguousarray(w.transpose(0, 2, 3, 1)) for w, _ in self.weights]
        return weights, [b for _, b in self.weights]

    def _bind(self, backend: str) -> Any:
        """The kernels of a backend; None for the reference."""
        if backend == "reference":
            return None
        sizes = np.array([_sizes(layer) for layer in self._planned], np.int32)
        layers = sizes, *self._kernel_arrays()
        if backend == "cuda":
            from evonet.backends.cuda.images import CudaFront

            return CudaFront(*self.input_shape, *layers)
        from evonet.backends.cpu import CpuBackend

        native = require_native()
        define_natively(native)
        make = native.ImageFront32 if self.dtype == np.float32 else native.ImageFront64
        return make(*self.input_shape, *layers, self._threads, CpuBackend().simd_level())

    def _by_reference(self, x: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """The images and the maps of all layers."""
        maps = [x]
        for layer, (weights, bias) in zip(self._planned, self.weights, strict=True):
            z = reference.convolve(maps[-1], weights, bias, layer.stride, layer.padding)
            y = reference.activate_maps(layer.activation, z)
            pool = layer.pool
            if pool is not None:
                assert pool.stride is not None
                y = reference.pool(y, pool.size, pool.stride, pool.kind)
            maps.append(y)
        return maps

    def read_images(self, name: str, images: Any, channels_last: bool = False) -> npt.NDArray[Any]:
        """Returns images [B, ...] or [P, B, ...] as an array of the front's type.

        Raises:
            ShapeError: They have another shape, or are no real numbers.
        """
        found = read_numbers(name, images, None, self.backend)
        shape = self.input_shape
        if channels_last:
            shape = (*shape[1:], shape[0])
        if found.ndim not in (4, 5) or found.shape[-3:] != shape:
            sizes = ", ".join(map(str, shape))
            raise ShapeError(
                f"{name} must have shape [B, {sizes}] or [P, B, {sizes}], "
                f"found {list(found.shape)}."
            )
        return np.asarray(as_type(found, self.dtype))


def _count(
    layer: Geometry, num_weights: int, row: tuple[int, ...], num_images: int, itemsize: int
) -> LayerCounts:
    """What a kernel's row says: inputs, non-zeros, then terms of one block of channels."""
    inputs, nonzeros, all_terms, sparse_terms, dense_terms = row
    share = (sparse_terms + dense_terms) / all_terms if all_terms else 0.0
    terms = num_images * num_weights * math.prod(layer.conv_shape[1:])
    moved = inputs + num_weights + num_images * math.prod(layer.output_shape)
    return LayerCounts(inputs, nonzeros, terms, round(terms * share), moved * itemsize)


def _unpickle(
    layers: tuple[Conv, ...],
    input_shape: tuple[int, int, int],
    arrays: dict[str, Any],
    dtype: np.dtype[Any],
    backend: str,
    threads: int,
) -> ConvFront:
    return ConvFront(
        layers, input_shape, weights=arrays, dtype=dtype, backend=backend, threads=threads
    )


def _sizes(layer: Geometry) -> tuple[int, ...]:
    pool = layer.pool
    kind = None if pool is None else pool.kind
    size = 1 if pool is None else pool.size
    step = 1 if pool is None or pool.stride is None else pool.stride
    return layer.stride, layer.padding, layer.activation, _POOL_IDS[kind], size, step
