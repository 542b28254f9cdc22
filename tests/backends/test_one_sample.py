"""Networks side by side: what repeated calls with a single sample switch to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evonet
from evonet.functions.registry import ACTIVATIONS
from evonet.installation import require_native

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
