"""Schedules made straight from layers equal those of populations."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from evonet import Network, OptionError, Population, ShapeError, build_schedule
from evonet.genes.layers import Layer, read_layers
from evonet.schedule.checks import check_schedule
from evonet.schedule.layered import schedule_of_layers


def layers_of(widths: tuple[int, ...], seed: int, degree: int | None = None) -> list[np.ndarray]:
    """Random layers in which every node reads something and is read, unless degree is 0."""
    rng, made = np.random.default_rng(seed), []
    for inputs, outputs in itertools.pairwise(widths):
        mask = rng.random((inputs, outputs)) < 0.3
        if degree is None:
            mask[rng.integers(inputs, size=outputs), np.arange(outputs)] = True
            mask[np.arange(inputs), rng.integers(outputs, size=inputs)] = True
        made.append(rng.normal(size=(inputs, outputs)) * mask)
    return made


def read(matrices: list[np.ndarray], bias: Any = 0.1, dtype: Any = np.float32) -> list[Layer]:
    return read_layers(matrices, bias, "relu", np.dtype(dtype))


@pytest.mark.parametrize("seed", range(8))
def test_a_layer_becomes_a_level_as_the_builder_would_make_it(seed: int) -> None:
    widths = tuple(np.random.default_rng(seed).integers(1, 12, size=7).tolist())
    matrices = layers_of(widths, seed)
    expected = build_schedule(Population.from_layers(matrices, 0.1))
    found = schedule_of_layers(iter(read(matrices)))
    for name, array in expected.arrays().items():
        np.testing.assert_array_equal(found.arrays()[name], array, err_msg=name)
    assert found == expected
    for native in (None, False):
        check_schedule(found, native)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("seed", range(4))
def test_nodes_without_links_or_readers_change_no_output(seed: int, backend: str) -> None:
    matrices = layers_of((6, 5, 8, 3, 7, 4), seed, degree=0)
    found = Network(schedule_of_layers(read(matrices)), backend, 1)
    expected = Network(build_schedule(Population.from_layers(matrices, 0.1)), "cpu", 1)
    x = np.random.default_rng(seed).normal(size=(33, 6)).astype(np.float32)
    assert found(x).tobytes() == expected(x).tobytes()


def test_layers_that_do_not_fit_are_refused() -> None:
    one, two = read([np.ones((2, 3))])[0], read([np.ones((2, 3))])[0]
    with pytest.raises(ShapeError, match="layer 1 has 2 inputs"):
        schedule_of_layers([one, two])
    with pytest.raises(OptionError, match="at least one layer"):
        schedule_of_layers([])
