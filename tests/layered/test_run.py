"""Tiles, threads, instruction sets and dropped samples change no bit of a layered network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from evonet import Network, Population, ShapeError, build_schedule
from evonet.backends.cpu import CpuBackend
from evonet.functions.registry import unregister_activation
from evonet.genes.layers import read_layers
from evonet.installation import require_native
from evonet.layered import LayeredNetwork, challenge_digits, radix_layers
from evonet.layered.radix import CLAMP, clamp_id
from evonet.schedule import Schedule
from evonet.schedule.layered import schedule_of_layers

SIMD_LEVELS = require_native().simd_levels()


@pytest.fixture(autouse=True)
def clamp() -> Iterator[None]:
    clamp_id()
    yield
    unregister_activation(CLAMP)


def tiles(s: Schedule, x: Any, drop: bool = True, threads: int = 2) -> Any:
    return CpuBackend().bind(s, threads).forward_in_tiles(x, drop)


def by_scipy(layers: list[Any], x: np.ndarray) -> np.ndarray:
    """The challenge's own rule: the bias only where a sum is not zero."""
    y = scipy.sparse.csr_matrix(x.astype(np.float64))
    for layer in layers:
        w = scipy.sparse.csc_matrix(
            (layer.weight.astype(np.float64), layer.source, layer.start),
            (layer.num_inputs, layer.num_nodes),
        )
        z = (y @ w).tocsr()
        z.data += np.float64(layer.bias[0])
        z.data = np.clip(z.data, 0, 32)
        z.eliminate_zeros()
        y = z
    return np.asarray(y.todense())


def mixed(seed: int, dtype: Any = np.float32) -> Schedule:
    """Layers whose nodes share all, some and no links, with other functions among them."""
    rng = np.random.default_rng(seed)
    matrices = []
    for inputs, outputs in ((20, 24), (24, 37), (37, 16), (16, 16), (16, 9)) + ((9, 9),) * 14:
        pattern = rng.random((inputs, 5)) < 0.5
        choice = rng.integers(5, size=outputs)
        alone = rng.random((inputs, outputs)) < 0.4
        shared = pattern[:, choice] & (rng.random(outputs) < 0.8)
        matrices.append(rng.normal(size=(inputs, outputs)) * np.where(shared, shared, alone))
    names = ["relu", "tanh", "relu", CLAMP, "identity"] + ["relu"] * 14
    return schedule_of_layers(read_layers(matrices, -0.05, names, np.dtype(dtype)))


@pytest.mark.parametrize("simd", SIMD_LEVELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(3))
def test_tiles_have_the_bits_of_the_reference(
    seed: int, dtype: Any, simd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVONET_SIMD", simd)
    s = mixed(seed, dtype)
    for count in (1, 63, 130, 300):
        x = np.random.default_rng(count).normal(size=(count, 20)).astype(dtype)
        x[::3] = 0
        expected = Network(s, "reference", 1)(x)
        for threads in (1, 2):
            for drop in (False, True):
                y, _ = tiles(s, x, drop, threads)
                assert y.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_evolved_shapes_run_in_tiles_too(dtype: Any) -> None:
    population = Population.random(
        6,
        5,
        3,
        num_nodes=60,
        num_connections=240,
        activations=("relu", "tanh", "square"),
        aggregations=("sum", "max", "median"),
        dtype=dtype,
        seed=4,
    )
    s = build_schedule(population)
    for shape in ((200, 5), (6, 200, 5)):
        x = np.random.default_rng(0).normal(size=shape).astype(dtype)
        y, counts = tiles(s, x)
        assert y.tobytes() == Network(s, "cpu", 1)(x).tobytes()
        assert counts.executed == s.num_edges * 200


def test_categories_are_those_of_scipy_row_by_row() -> None:
    layers = list(radix_layers(64, 40))
    rng = np.random.default_rng(0)
    x = (rng.random((1500, 64)) < rng.random((1500, 1))).astype(np.uint8)
    expected = by_scipy(layers, x)
    result = LayeredNetwork(layers, threads=1).run(x, outputs=True)
    np.testing.assert_array_equal(result.categories, np.flatnonzero(expected.any(axis=1)))
    assert 0 < len(result.categories) < 1500
    np.testing.assert_allclose(result.outputs, expected, rtol=1e-5)
    assert result.executed < result.num_links * 1500
    kept = LayeredNetwork(layers).run(x, drop=False, outputs=True)
    assert kept.outputs is not None
    assert result.outputs is not None
    assert kept.outputs.tobytes() == result.outputs.tobytes()
    assert kept.executed == kept.num_links * 1500
    assert sum(count for count, _ in kept.layer_seconds) == 40


def test_large_calls_of_a_network_take_tiles_by_themselves() -> None:
    s = schedule_of_layers(radix_layers(64, 20))
    x = challenge_digits(64, 300).astype(np.float32)
    assert s.num_edges >= 1 << 15
    expected = Network(s, "cpu", 1)(x[:8])
    assert Network(s, "cpu", 2)(x)[:, :8].tobytes() == expected.tobytes()


@pytest.mark.parametrize("fault", ["bias", "late input", "output", "infinite"])
def test_samples_that_do_not_stay_zero_are_kept(fault: str) -> None:
    """A sample may be all zero and yet have a value later."""
    depth, width = 24, 16
    eye = np.eye(width)
    bias = [np.full(width, -0.1) for _ in range(depth)]
    if fault == "bias":
        bias[20][3] = 0.5
    layers = read_layers([eye] * depth, bias, "relu", np.dtype(np.float32))
    s = schedule_of_layers(layers)
    if fault == "infinite":
        weight = s.weight.copy()
        weight[-1] = np.inf
        s = Schedule(**{**vars_of(s), "weight": weight})
    if fault == "late input":
        source = s.source.copy()
        source[-width:] = np.arange(width)
        s = Schedule(**{**vars_of(s), "source": source})
    if fault == "output":
        output = s.output_slot.copy()
        output[0, 0] = 2  # an input
        s = Schedule(**{**vars_of(s), "output_slot": output})
    x = np.zeros((200, width), np.float32)
    x[:, 2] = np.linspace(-1, 1, 200)
    x[::2] = 0
    expected = Network(s, "reference", 1)(x)
    y, counts = tiles(s, x)
    assert y.tobytes() == expected.tobytes()
    if fault == "bias":
        assert counts.executed == s.num_edges * 200


def vars_of(s: Schedule) -> dict[str, Any]:
    return {
        "num_inputs": s.num_inputs,
        "num_outputs": s.num_outputs,
        "dynamics": s.dynamics,
        **s.arrays(),
    }


def test_digits_are_binary_equal_each_time_and_of_any_square_size() -> None:
    one, two = challenge_digits(256, 100), challenge_digits(256, 100)
    assert one.tobytes() == two.tobytes()
    assert set(np.unique(one).tolist()) == {0, 1}
    assert 0.02 < one.mean() < 0.6
    assert one.any(axis=1).all()


def test_samples_of_another_width_are_refused() -> None:
    with pytest.raises(ShapeError, match="32"):
        LayeredNetwork(radix_layers(32, 2)).run(np.zeros((3, 31)))
