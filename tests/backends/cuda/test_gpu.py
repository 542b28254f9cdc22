"""On real GPUs, where there are any: everything that must have equal bits there.

The same comparisons run on imaginary GPUs in test_doctor.py, and by `evonet.doctor --verify-gpu`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evonet
from evonet.doctor.comparisons import COMPARISONS, BitComparison
from tests.support.gpu_memory import little_memory

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda comparison: comparison.name)
def test_a_gpu_has_the_bits_of_the_processor(comparison: BitComparison) -> None:
    total, mismatches = comparison.run()
    assert total > 0
    assert mismatches == []


def test_outputs_stay_on_the_gpu_and_are_cupys() -> None:
    import cupy

    population = evonet.Population.random(9, 3, 2, num_nodes=6, num_connections=12, seed=1)
    x = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
    y = evonet.compile(population, backend="cuda")(x, out="device")
    assert isinstance(y, cupy.ndarray)
    expected = evonet.compile(population, backend="cpu")(x)
    assert (cupy.asnumpy(y).view("u4") == expected.view("u4")).all()
    assert (np.asarray(cupy.from_dlpack(y).get()).view("u4") == expected.view("u4")).all()


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"])
def test_cupy_samples_of_any_number_type_are_rounded_as_numpy_rounds(dtype: Any) -> None:
    import cupy

    population = evonet.Population.random(9, 3, 2, num_nodes=6, num_connections=12, seed=1)
    bits = np.random.default_rng(0).integers(0, 256, (16, 3 * np.dtype(dtype).itemsize), np.uint8)
    x = (bits % 2 == 1) if dtype == "?" else bits.view(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = evonet.compile(population, backend="cpu")(x)
    found = evonet.compile(population, backend="cuda")(cupy.asarray(x))
    assert (found.view("u4") == expected.view("u4")).all()


def test_too_little_memory_is_met_by_smaller_pieces() -> None:
    population = evonet.Population.random(500, 8, 4, num_nodes=50, num_connections=200, seed=1)
    x = np.random.default_rng(1).normal(size=(2000, 8)).astype(np.float32)
    expected = evonet.compile(population, backend="cpu")(x)
    with little_memory(4 << 20):
        found = evonet.compile(population, backend="cuda")(x)
    assert (found.view("u4") == expected.view("u4")).all()
