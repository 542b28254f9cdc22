"""Fronts for images: equal bits whichever way was taken, and the right numbers."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings

import evonet
from evonet.errors import OptionError, ShapeError, UnknownFunctionError
from evonet.images import Conv, ConvFront, Pool
from evonet.installation import require_native

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38])


@st.composite
def fronts(draw: st.DrawFn) -> tuple[list[Conv], tuple[int, int, int]]:
    shape = (draw(st.integers(1, 19)), draw(st.integers(1, 13)), draw(st.integers(1, 13)))
    layers: list[Conv] = []
    height, width = shape[1:]
    for _ in range(draw(st.integers(1, 2))):
        padding = draw(st.integers(0, 2))
        inner = (height + 2 * padding, width + 2 * padding)
        kernel = (draw(st.integers(1, min(4, inner[0]))), draw(st.integers(1, min(4, inner[1]))))
        stride = draw(st.integers(1, 3))
        conv = tuple((n - k) // stride + 1 for n, k in zip(inner, kernel, strict=True))
        size = draw(st.integers(1, min(3, *conv)))
        step = draw(st.integers(1, 3))
        pool = draw(st.sampled_from([None, Pool(size, step), Pool(size, step, "average")]))
        channels = draw(st.integers(1, 70))
        activation = draw(st.sampled_from(["relu", "identity", "tanh", "sigmoid"]))
        layers.append(Conv(channels, kernel, stride, padding, activation, pool))
        if pool is not None:
            conv = tuple((n - size) // step + 1 for n in conv)
        height, width = conv
    return layers, shape


def draw_images(
    shape: tuple[int, ...], zeros: float, special: bool, seed: int, dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    x[rng.random(shape) < zeros] = 0
    if special:
        places = rng.random(shape) < 0.05
        x[places] = rng.choice(SPECIAL, places.sum())
    return x.astype(dtype)


def bits(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return x.view(np.int32 if x.dtype == np.float32 else np.int64)


@settings(max_examples=60)
@given(
    fronts(),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_bits_depend_on_nothing_but_the_images_and_weights(
    front: tuple[list[Conv], tuple[int, int, int]],
    dtype: type,
    zeros: float,
    special: bool,
    seed: int,
) -> None:
    layers, shape = front
    x = draw_images((2, *shape), zeros, special, seed, dtype)
    oracle = ConvFront(layers, shape, seed=seed, dtype=dtype, backend="reference")
    wanted = bits(oracle(x))
    with pytest.MonkeyPatch.context() as patch:
        for simd in require_native().simd_levels():
            patch.setenv("EVONET_SIMD", simd)
            for threads in (1, 3):
                here = ConvFront(
                    layers, shape, seed=seed, dtype=dtype, backend="cpu", threads=threads
                )
                for path in ("auto", "sparse", "dense"):
                    np.testing.assert_array_equal(bits(here(x, path)), wanted)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_a_front_is_a_convolution_in_the_order_of_pytorch(backend: str) -> None:
    x = draw_images((3, 2, 7, 6), 0.3, False, 1, np.float64)
    front = ConvFront(
        [Conv(5, (3, 2), 2, 1, "relu", 2)], (2, 7, 6), dtype=np.float64, backend=backend
    )
    weights, bias = front.weights[0]
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    z = np.zeros((3, 5, 4, 4))
    for row, column in np.ndindex(4, 4):
        window = padded[:, :, 2 * row : 2 * row + 3, 2 * column : 2 * column + 2]
        z[:, :, row, column] = np.einsum("bcij,ocij->bo", window, weights) + bias
    pooled = np.maximum(z, 0).reshape(3, 5, 2, 2, 2, 2).max(axis=(3, 5))
    np.testing.assert_allclose(front(x), pooled.reshape(3, -1), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("channels", "outputs", "kernel"), [(64, 70, 3), (300, 20, 2), (40, 33, (5, 4))]
)
def test_bits_do_not_depend_on_how_many_weights_fit_into_a_cache(
    channels: int, outputs: int, kernel: Any, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers, shape = [Conv(outputs, kernel, 1, 1, pool=2)], (channels, 7, 7)
    x = draw_images((1, *shape), 0.6, True, 1, dtype)
    wanted = ConvFront(layers, shape, dtype=dtype, backend="reference")(x)
    for simd in require_native().simd_levels():
        monkeypatch.setenv("EVONET_SIMD", simd)
        found = ConvFront(layers, shape, dtype=dtype, backend="cpu")(x, "sparse")
        np.testing.assert_array_equal(bits(found), bits(wanted))


@pytest.mark.parametrize("path", ["sparse", "dense"])
def test_a_pool_may_be_as_large_as_its_map(path: Any) -> None:
    layers = [Conv(40, 1, pool=Pool(23, 1, "average"))]
    x = draw_images((2, 3, 24, 23), 0.5, False, 1, np.float32)
    wanted = ConvFront(layers, (3, 24, 23), backend="reference")(x)
    found = ConvFront(layers, (3, 24, 23), backend="cpu")(x, path)
    np.testing.assert_array_equal(bits(found), bits(wanted))


def test_images_of_each_genome_are_independent() -> None:
    front = ConvFront([Conv(3, 2)], (1, 4, 4), seed=3)
    x = draw_images((5, 2, 1, 4, 4), 0.5, False, 2, np.float32)
    y = front(x)
    assert y.shape == (5, 2, front.num_features)
    for p in range(5):
        np.testing.assert_array_equal(y[p], front(x[p]))


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_channels_may_come_last(backend: str) -> None:
    front = ConvFront([Conv(3, 2, pool=2), Conv(40, 1)], (2, 6, 7), seed=3, backend=backend)
    x = draw_images((5, 2, 6, 7), 0.5, False, 2, np.float32)
    wanted = front(x).reshape(5, *front.output_shape).transpose(0, 2, 3, 1)
    found = front(x.transpose(0, 2, 3, 1), channels_last=True)
    np.testing.assert_array_equal(found, wanted.reshape(5, -1))


def test_more_images_than_fit_into_memory_at_once_are_split() -> None:
    front = ConvFront([Conv(1, 1)], (1, 512, 512), seed=3)
    x = np.zeros((160, 1, 512, 512), np.float32)
    x[:, 0, 0, 0] = np.arange(160)
    y = front(x)
    np.testing.assert_array_equal(
        y[:, 0], np.maximum(x[:, 0, 0, 0] * front.weights[0][0].item(), 0)
    )


def test_a_front_runs_where_networks_do(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ConvFront([Conv(3, 2)], (1, 4, 4), backend="cpu").backend == "cpu"
    monkeypatch.setenv("EVONET_BACKEND", "reference")
    assert ConvFront([Conv(3, 2)], (1, 4, 4)).backend == "reference"


def test_an_empty_batch_has_no_features() -> None:
    front = ConvFront([Conv(3, 2)], (1, 4, 4))
    assert front(np.zeros((0, 1, 4, 4))).shape == (0, front.num_features)


def test_weights_come_from_named_arrays_with_or_without_biases() -> None:
    rng = np.random.default_rng(0)
    weights = {
        "features.0.weight": rng.standard_normal((4, 2, 3, 3)),
        "features.0.bias": rng.standard_normal(4),
        "features.3.weight": rng.standard_normal((2, 4, 1, 1)),
        "classifier.weight": rng.standard_normal((10, 2)),
    }
    front = ConvFront([Conv(4), Conv(2, 1)], (2, 5, 5), weights=weights, dtype=np.float64)
    np.testing.assert_array_equal(front.weights[0][0], weights["features.0.weight"])
    np.testing.assert_array_equal(front.weights[0][1], weights["features.0.bias"])
    np.testing.assert_array_equal(front.weights[1][1], np.zeros(2))


def test_counts_say_what_was_skipped() -> None:
    front = ConvFront([Conv(64, 3, padding=1)], (32, 20, 20), backend="cpu")
    x = np.zeros((1, 32, 20, 20), np.float32)
    x[0, :, 10, 10] = 1
    front(x)
    counts = front.counts[0]
    assert counts.nonzeros == 32
    assert counts.multiplied == 32 * 9 * 64
    assert counts.terms == 20 * 20 * 9 * 32 * 64
    assert counts.skipped_share > 0.99
    front(x, "dense")
    assert front.counts[0].skipped_share == 0


def test_custom_activations_serve_too() -> None:
    evonet.register_activation("front_swish", "x / (1 + exp(-x))")
    try:
        layers = [Conv(5, 3, activation="front_swish")]
        x = draw_images((2, 1, 6, 6), 0.2, False, 0, np.float32)
        wanted = ConvFront(layers, (1, 6, 6), backend="reference")(x)
        np.testing.assert_array_equal(
            bits(ConvFront(layers, (1, 6, 6), backend="cpu")(x)), bits(wanted)
        )
    finally:
        evonet.unregister_activation("front_swish")


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ConvFront([], (1, 4, 4)), OptionError, "at least one layer"),
        (lambda: ConvFront([Conv(3, 5)], (1, 4, 4)), ShapeError, "layer 0: a window of 5 x 5"),
        (lambda: ConvFront([Conv(3, 3, pool=3)], (1, 4, 4)), ShapeError, "a pool of 3 x 3"),
        (lambda: ConvFront([Conv(3)], (1, 4)), ShapeError, "must be (C, H, W)"),  # type: ignore[arg-type]
        (lambda: ConvFront([Conv(3)], (1, 0, 4)), OptionError, "input_shape"),
        (lambda: Conv(0), OptionError, "channels"),
        (lambda: Conv(3, stride=0), OptionError, "stride"),
        (lambda: Conv(3, (1, 2, 3)), OptionError, "height, width"),  # type: ignore[arg-type]
        (lambda: Conv(3, activation="nothing"), UnknownFunctionError, "nothing"),
        (lambda: Pool(2, kind="least"), OptionError, "pool.kind"),  # type: ignore[arg-type]
        (lambda: ConvFront([Conv(3)], (1, 4, 4), weights={}), OptionError, "each of the 1 layers"),
        (
            lambda: ConvFront([Conv(3)], (1, 4, 4), weights={"w": np.ones((3, 1, 3, 2))}),
            ShapeError,
            "must have shape [3, 1, 3, 3]",
        ),
        (
            lambda: ConvFront([Conv(3)], (1, 4, 4), weights={"w": np.full((3, 1, 3, 3), np.inf)}),
            ShapeError,
            "finite",
        ),
        (lambda: ConvFront([Conv(3)], (1, 4, 4), dtype=np.int32), OptionError, "dtype"),
        (lambda: ConvFront([Conv(3)], (1, 4, 4), backend="gpu"), OptionError, "backend"),
    ],
)
def test_nonsense_is_refused(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)


def test_images_of_another_shape_are_refused() -> None:
    front = ConvFront([Conv(3)], (1, 4, 4))
    with pytest.raises(ShapeError, match=r"found \[2, 1, 4, 5\]"):
        front(np.zeros((2, 1, 4, 5)))
    with pytest.raises(ShapeError, match="real numbers"):
        front(np.full((2, 1, 4, 4), "a"))
