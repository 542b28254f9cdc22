"""Derivatives of fronts: equal bits everywhere, and the right numbers."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings

import evonet
from evonet.errors import ShapeError
from evonet.images import Conv, ConvFront, Pool
from evonet.installation import require_native
from tests.images.test_front import bits, draw_images, fronts

Array = npt.NDArray[Any]


def assert_equal_bits(found: dict[str, Array], wanted: dict[str, Array]) -> None:
    assert list(found) == list(wanted)
    for name in wanted:
        np.testing.assert_array_equal(bits(found[name]), bits(wanted[name]), name)


@settings(max_examples=40)
@given(
    fronts(),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([0.0, 0.5, 0.95, 1.0]),
    st.booleans(),
    st.sampled_from([1, 2, 35]),
    st.integers(0, 2**32),
)
def test_bits_depend_on_nothing_but_images_weights_and_adjoints(
    front: tuple[list[Conv], tuple[int, int, int]],
    dtype: type,
    zeros: float,
    special: bool,
    count: int,
    seed: int,
) -> None:
    layers, shape = front
    if count > 2:
        layers, shape = [Conv(2, 1, activation="tanh", pool=1)], (shape[0], 2, 3)
    x = draw_images((count, *shape), zeros, special, seed, dtype)
    oracle = ConvFront(layers, shape, seed=seed, dtype=dtype, backend="reference")
    adjoints = draw_images((count, oracle.num_features), 0.5, special, seed + 1, dtype)
    wanted = oracle.gradients(x, adjoints, inputs=True)
    with pytest.MonkeyPatch.context() as patch:
        for simd in require_native().simd_levels():
            patch.setenv("EVONET_SIMD", simd)
            for threads in (1, 3):
                here = ConvFront(
                    layers, shape, seed=seed, dtype=dtype, backend="cpu", threads=threads
                )
                assert_equal_bits(here.gradients(x, adjoints, inputs=True), wanted)


LAYERS = [
    Conv(3, (2, 3), padding=1, activation="tanh", pool=2),
    Conv(4, 2, stride=2, activation="sigmoid", pool=Pool(2, 1, "average")),
]
SHAPE = (2, 9, 11)


def smooth_front(backend: str = "cpu") -> ConvFront:
    front = ConvFront(LAYERS, SHAPE, dtype=np.float64, seed=4, backend=backend)
    rng = np.random.default_rng(0)
    biases = {name: rng.normal(size=a.shape) for name, a in front.arrays.items() if "bias" in name}
    return front.replace({**front.arrays, **biases})


def test_derivatives_are_those_of_central_differences() -> None:
    front = smooth_front()
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3, *SHAPE))
    adjoints = rng.normal(size=(3, front.num_features))
    found = front.gradients(x, adjoints, inputs=True)
    for name, values in {**front.arrays, "images": x}.items():
        for place in rng.integers(0, values.size, 12):
            sums = []
            for step in (1e-6, -1e-6):
                moved = values.copy()
                moved.reshape(-1)[place] += step
                other = front if name == "images" else front.replace({**front.arrays, name: moved})
                sums.append((other(moved if name == "images" else x) * adjoints).sum())
            slope = (sums[0] - sums[1]) / 2e-6
            np.testing.assert_allclose(found[name].reshape(-1)[place], slope, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_the_first_of_the_largest_pixels_gets_everything(backend: str) -> None:
    front = ConvFront(
        [Conv(1, 1, activation="identity", pool=2)],
        (1, 2, 4),
        weights={"weight": np.ones((1, 1, 1, 1))},
        backend=backend,
    )
    x = np.array([[1, 3, 5, 5], [3, 2, 5, 5]], np.float32).reshape(1, 1, 2, 4)
    found = front.gradients(x, [[10.0, 20.0]], inputs=True)
    np.testing.assert_array_equal(found["images"][0, 0], [[0, 10, 20, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(found["0.weight"].item(), 10 * 3 + 20 * 5)
    np.testing.assert_array_equal(found["0.bias"], [30])


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_pixels_between_pools_get_nothing_and_shared_ones_everything(backend: str) -> None:
    weights = {"weight": np.ones((1, 1, 1, 1))}

    def spread(pool: Pool, width: int) -> list[float]:
        layers = [Conv(1, 1, activation="identity", pool=pool)]
        front = ConvFront(layers, (1, width, width), weights=weights, backend=backend)
        x = np.arange(width * width, dtype=np.float32).reshape(1, 1, width, width)
        d = np.ones((1, front.num_features))
        images: Array = front.gradients(x, d, inputs=True)["images"]
        return [float(v) for v in images.reshape(-1)]

    assert spread(Pool(1, 2), 3) == [1, 0, 1, 0, 0, 0, 1, 0, 1]
    assert spread(Pool(2, 1, "average"), 3) == [0.25, 0.5, 0.25, 0.5, 1, 0.5, 0.25, 0.5, 0.25]
    assert spread(Pool(2, 1), 3) == [0, 0, 0, 0, 1, 1, 0, 1, 1]


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_zeros_contribute_nothing_even_beside_infinity(backend: str) -> None:
    front = ConvFront([Conv(1, 2, activation="identity")], (1, 2, 2), seed=1, backend=backend)
    x = np.array([[1, 0], [-0.0, 2]], np.float32).reshape(1, 1, 2, 2)
    found = front.gradients(x, [[np.inf]])
    np.testing.assert_array_equal(found["0.weight"][0, 0], [[np.inf, 0], [0, np.inf]])
    x[0, 0, 0, 0] = np.nan
    found = front.gradients(x, [[0.0]])
    np.testing.assert_array_equal(found["0.weight"], np.zeros((1, 1, 2, 2)))


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_channels_may_come_last(backend: str) -> None:
    front = smooth_front(backend)
    rng = np.random.default_rng(2)
    x, d = rng.normal(size=(3, *SHAPE)), rng.normal(size=(3, *front.output_shape))
    wanted = front.gradients(x, d.reshape(3, -1), inputs=True)
    last = d.transpose(0, 2, 3, 1).reshape(3, -1)
    found = front.gradients(x.transpose(0, 2, 3, 1), last, inputs=True, channels_last=True)
    found["images"] = found["images"].transpose(0, 3, 1, 2).copy()
    assert_equal_bits(found, wanted)


def test_adjoints_of_several_genomes_on_the_same_images_are_added_in_order() -> None:
    front = smooth_front()
    rng = np.random.default_rng(2)
    x, d = rng.normal(size=(2, *SHAPE)), rng.normal(size=(3, 2, front.num_features))
    assert_equal_bits(front.gradients(x, d), front.gradients(x, (d[0] + d[1]) + d[2]))


def test_images_of_each_genome_are_samples_of_their_own() -> None:
    front = smooth_front()
    rng = np.random.default_rng(2)
    x, d = rng.normal(size=(3, 2, *SHAPE)), rng.normal(size=(3, 2, front.num_features))
    found = front.gradients(x, d, inputs=True)
    assert found["images"].shape == x.shape
    wanted = front.gradients(x.reshape(6, *SHAPE), d.reshape(6, -1))
    np.testing.assert_array_equal(found["0.weight"], wanted["0.weight"])


def test_no_images_have_no_derivatives() -> None:
    front = smooth_front()
    found = front.gradients(np.zeros((0, *SHAPE)), np.zeros((0, front.num_features)), inputs=True)
    assert not any(array.any() for array in found.values())
    assert found["images"].shape == (0, *SHAPE)


def test_custom_activations_have_slopes_too() -> None:
    evonet.register_activation("front_slope", "x * x / (1 + x * x)")
    try:
        layers = [Conv(5, 3, activation="front_slope", pool=2)]
        x = draw_images((2, 1, 9, 9), 0.2, False, 0, np.float32)
        oracle = ConvFront(layers, (1, 9, 9), backend="reference")
        d = draw_images((2, oracle.num_features), 0.2, False, 1, np.float32)
        here = ConvFront(layers, (1, 9, 9), backend="cpu")
        assert_equal_bits(here.gradients(x, d), oracle.gradients(x, d))
    finally:
        evonet.unregister_activation("front_slope")


def test_networks_and_front_are_one_function() -> None:
    """The derivative of a population's loss by the front's weights."""
    front = smooth_front()
    population = evonet.Population.random(
        3, front.num_features, 2, num_nodes=5, num_connections=25, dtype=np.float64, seed=2
    )
    network = evonet.compile(population)
    rng = np.random.default_rng(3)
    x, targets = rng.normal(size=(4, *SHAPE)), rng.normal(size=(4, 2))
    _, slopes = network.gradients(front(x), targets, inputs=True)
    found = front.gradients(x, slopes["x"])["0.weight"]
    place, sums = (1, 0, 1, 2), []
    for step in (1e-6, -1e-6):
        moved = {name: array.copy() for name, array in front.arrays.items()}
        moved["0.weight"][place] += step
        sums.append(network.loss(front.replace(moved)(x), targets).sum())
    np.testing.assert_allclose(found[place], (sums[0] - sums[1]) / 2e-6, rtol=1e-5)


def test_shapes_are_checked() -> None:
    front = smooth_front()
    with pytest.raises(ShapeError, match=r"adjoints must have shape \[2, "):
        front.gradients(np.zeros((2, *SHAPE)), np.zeros((2, 3)))
    with pytest.raises(ShapeError, match="images must have shape"):
        front.gradients(np.zeros((2, 3)), np.zeros((2, 3)))


def test_other_weights_can_be_set_in_place() -> None:
    front, other = smooth_front(), ConvFront(LAYERS, SHAPE, dtype=np.float64, seed=9)
    x = np.random.default_rng(0).normal(size=(2, *SHAPE))
    wanted = other(x)
    front.set_weights(other.arrays)
    np.testing.assert_array_equal(front(x), wanted)
    assert_equal_bits(
        front.gradients(x, wanted),
        other.gradients(x, wanted),
    )
