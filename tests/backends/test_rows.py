"""Rows of samples: every width and every number of outputs has the bits of the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evonet
from evonet.functions.registry import ACTIVATIONS
from evonet.installation import require_native

SIMD_LEVELS = require_native().simd_levels()
# Around whole vectors, and around the widest block, of every instruction set and type.
SAMPLES = (2, 7, 8, 16, 17, 32, 33, 64, 128, 131)
EACH_ACTIVATION = [function.name for function in ACTIVATIONS]


def assert_same_bits(population: evonet.Population, samples: int, **options: Any) -> None:
    x = np.random.default_rng(samples).normal(0, 2, (samples, population.num_inputs))
    wanted = evonet.compile(population, backend="reference", **options)(x)
    found = evonet.compile(population, backend="cpu", **options)(x)
    assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()


@pytest.mark.parametrize("simd", SIMD_LEVELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("outputs", [1, 2, 3, 4, 5])
def test_outputs_of_any_number_and_samples_of_any_number_are_the_reference_s(
    outputs: int, dtype: str, simd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVONET_SIMD", simd)
    population = evonet.Population.random(
        3, 3, outputs, num_nodes=9, num_connections=25, seed=outputs, dtype=dtype
    )
    for samples in SAMPLES:
        assert_same_bits(population, samples)


@pytest.mark.parametrize("simd", SIMD_LEVELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("activation", EACH_ACTIVATION)
def test_an_activation_is_the_reference_s_in_rows_of_every_width(
    activation: str, dtype: str, simd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some are part of the loop over links in narrow rows, and called in wide ones."""
    monkeypatch.setenv("EVONET_SIMD", simd)
    population = evonet.Population.random(
        2, 3, 2, num_nodes=7, num_connections=16, seed=3, dtype=dtype, activations=(activation,)
    )
    for samples in SAMPLES:
        assert_same_bits(population, samples)


@pytest.mark.parametrize("outputs", [1, 2, 4])
def test_an_output_behind_a_cycle_is_zero_in_rows_of_every_width(outputs: int) -> None:
    nodes = [(key, 0.5) for key in range(outputs + 1)]
    links = [(outputs, 0, 1.0), (0, outputs, 1.0), *((-1, key, 2.0) for key in range(1, outputs))]
    population = evonet.Population.from_genes(1, outputs, [(nodes, links)])
    for samples in SAMPLES:
        assert_same_bits(population, samples, on_cycle="zero")
