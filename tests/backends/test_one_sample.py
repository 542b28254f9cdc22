"""Networks side by side: what repeated calls with a single sample switch to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evonet
from evonet.functions.registry import ACTIVATIONS
from evonet.installation import require_native
from evonet.schedule import build_schedule

# Beyond the calls after which networks are packed.
CALLS = 10
SIMD_LEVELS = require_native().simd_levels()
EACH_ACTIVATION = [function.name for function in ACTIVATIONS]


def networks(size: int, dtype: str, **options: Any) -> evonet.Population:
    settings = {"num_nodes": 12, "num_connections": 40, "seed": 5, **options}
    return evonet.Population.random(size, 5, 3, dtype=dtype, **settings)


def wanted(population: evonet.Population, x: Any) -> Any:
    return evonet.compile(population, backend="reference")(x)


def assert_same_bits_in_every_call(population: evonet.Population, x: Any, threads: int = 2) -> None:
    expected = np.asarray(wanted(population, x))
    network = evonet.compile(population, backend="cpu", threads=threads)
    for call in range(CALLS):
        found = np.asarray(network(x))
        assert found.tobytes() == expected.tobytes(), f"call {call + 1}"


def forward_of(population: evonet.Population, simd: str) -> Any:
    native = require_native()
    make = native.Forward32 if population.dtype == np.float32 else native.Forward64
    return make(build_schedule(population), 2, simd)


def draw(shape: tuple[int, ...], dtype: str) -> Any:
    return np.random.default_rng(7).normal(0, 2, shape).astype(dtype)


@pytest.mark.parametrize("simd", SIMD_LEVELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 3, 16, 33, 70])
def test_repeated_single_samples_have_the_bits_of_the_reference(
    size: int, dtype: str, simd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVONET_SIMD", simd)
    population = networks(size, dtype)
    assert_same_bits_in_every_call(population, draw((1, 5), dtype))
    assert_same_bits_in_every_call(population, draw((size, 1, 5), dtype), threads=1)


@pytest.mark.parametrize("gathers", [False, True])
@pytest.mark.parametrize("simd", SIMD_LEVELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shared", [True, False])
def test_either_kernel_has_the_bits_of_the_reference(
    shared: bool, dtype: str, simd: str, gathers: bool
) -> None:
    population = networks(70, dtype, activations=EACH_ACTIVATION, num_connections=60)
    x = draw((1, 5) if shared else (70, 1, 5), dtype)
    y = np.empty((70, 1, 3), dtype)
    assert forward_of(population, simd).side_by_side(x, y, gathers)
    assert y.tobytes() == np.asarray(wanted(population, x)).tobytes()


@pytest.mark.parametrize("simd", SIMD_LEVELS)
def test_the_last_rows_of_the_largest_groups_are_found(simd: str) -> None:
    # A group's values may take 512 KiB, up to where 16 bits can count no further.
    lanes = {"baseline": 8, "v3": 16, "v4": 32}[simd]
    rows = 512 * 1024 // (4 * lanes)
    nodes = rows - 1 - 2  # beside zeros and inputs, one for each node of a chain
    chain = [(i, (i + 1) % nodes, 0.5) for i in range(1, nodes)]
    genes = (
        list(range(nodes)),
        [(-1, 1, 1.0), *chain, *((-2, i, 0.1) for i in range(0, nodes, 7))],
    )
    population = evonet.Population.from_genes(2, 1, [genes])[[0] * lanes]
    forward, x = forward_of(population, simd), draw((1, 2), "float32")
    expected = np.empty((lanes, 1, 1), np.float32)
    forward(x, expected)
    assert len(set(expected.ravel())) == 1
    for gathers in (False, True):
        y = np.empty_like(expected)
        assert forward.side_by_side(x, y, gathers)
        assert y.tobytes() == expected.tobytes(), gathers


def test_networks_that_do_not_fit_are_not_run() -> None:
    population = networks(70, "float32", aggregations=["max"])
    y = np.empty((70, 1, 3), np.float32)
    assert not forward_of(population, SIMD_LEVELS[-1]).side_by_side(
        draw((1, 5), "float32"), y, True
    )


@pytest.mark.parametrize("simd", SIMD_LEVELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_neighbours_may_have_other_activations(
    dtype: str, simd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVONET_SIMD", simd)
    population = networks(70, dtype, activations=EACH_ACTIVATION)
    assert_same_bits_in_every_call(population, draw((1, 5), dtype))


def test_networks_of_other_sizes_share_a_group() -> None:
    small, large = networks(40, "float32"), networks(40, "float32", num_nodes=9, num_connections=25)
    both = evonet.Population.concatenate([small, large])
    assert_same_bits_in_every_call(both, draw((1, 5), "float32"))


@pytest.mark.parametrize("aggregations", [["median"], ["sum", "product", "max", "mean"]])
def test_other_aggregations_run_one_by_one(aggregations: list[str]) -> None:
    population = networks(70, "float32", aggregations=aggregations)
    assert_same_bits_in_every_call(population, draw((1, 5), "float32"))


def test_special_values_pass_through_filled_up_links_unchanged() -> None:
    population = networks(70, "float32", activations=["identity"], weight_scale=1e20)
    x = np.array([[np.inf, -np.inf, np.nan, -0.0, 3e38]], np.float32)
    with np.errstate(all="ignore"):
        assert_same_bits_in_every_call(population, x)


def test_other_numbers_of_samples_still_work_after_packing() -> None:
    population = networks(70, "float32")
    network = evonet.compile(population, backend="cpu")
    for _ in range(CALLS):
        network(draw((1, 5), "float32"))
    x = draw((9, 5), "float32")
    assert np.asarray(network(x)).tobytes() == np.asarray(wanted(population, x)).tobytes()
    one, other = draw((1, 5), "float32"), -draw((1, 5), "float32")
    for sample in (one, other, one):
        found = np.asarray(network(sample))
        assert found.tobytes() == np.asarray(wanted(population, sample)).tobytes()
