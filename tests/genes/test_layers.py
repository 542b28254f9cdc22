"""Layered networks become genomes that compute f(x W + b), layer by layer."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import evonet
from evonet import OptionError, Population, ShapeError, UnknownFunctionError

WIDTHS = (5, 7, 6, 3)


def matrices(seed: int = 0, density: float = 0.5) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [
        rng.normal(size=(a, b)) * (rng.random((a, b)) < density)
        for a, b in itertools.pairwise(WIDTHS)
    ]


def biases(seed: int = 0) -> list[np.ndarray]:
    return [np.random.default_rng(seed + 9).normal(size=n) for n in WIDTHS[1:]]


def by_numpy(x: np.ndarray, weights: list[np.ndarray], bias: list[Any]) -> np.ndarray:
    for w, b in zip(weights, bias, strict=True):
        x = np.maximum(x @ w + b, 0)
    return x


FORMATS = {
    "dense": np.asarray,
    "csr": scipy.sparse.csr_matrix,
    "csc": scipy.sparse.csc_array,
    "coo": scipy.sparse.coo_matrix,
}


@pytest.mark.parametrize("form", FORMATS)
def test_layers_of_any_form_compute_what_numpy_does(form: str) -> None:
    weights, bias = matrices(), biases()
    population = Population.from_layers([FORMATS[form](w) for w in weights], bias, dtype=np.float64)
    assert population == Population.from_layers(weights, bias, dtype=np.float64)
    x = np.random.default_rng(1).normal(size=(20, WIDTHS[0]))
    y = evonet.compile(population)(x)[0]
    np.testing.assert_allclose(y, by_numpy(x, weights, bias), atol=1e-12)


def test_each_layer_may_have_its_activation() -> None:
    weights = matrices(density=1.0)
    population = Population.from_layers(weights, 0.25, ["relu", "identity", "clamped"], np.float64)
    x = np.random.default_rng(1).normal(size=(9, WIDTHS[0]))
    hidden = np.maximum(x @ weights[0] + 0.25, 0) @ weights[1] + 0.25
    expected = np.clip(hidden @ weights[2] + 0.25, -1, 1)
    np.testing.assert_allclose(evonet.compile(population)(x)[0], expected, atol=1e-12)


def test_several_networks_become_several_genomes() -> None:
    networks = [matrices(seed) for seed in range(3)]
    bias = [biases(seed) for seed in range(3)]
    population = Population.from_layers(networks, bias, dtype=np.float64)
    x = np.random.default_rng(1).normal(size=(4, WIDTHS[0]))
    for y, weights, b in zip(evonet.compile(population)(x), networks, bias, strict=True):
        np.testing.assert_allclose(y, by_numpy(x, weights, b), atol=1e-12)
    for g, weights in enumerate(networks):
        one = Population.from_layers(weights, bias[g], dtype=np.float64)
        assert population[g] == one[0]


def test_a_state_dict_holds_transposed_matrices_and_biases() -> None:
    weights, bias = matrices(), biases()
    state = {}
    for i, (w, b) in enumerate(zip(weights, bias, strict=True)):
        state[f"layers.{i}.weight"], state[f"layers.{i}.bias"] = w.T, b
    found = Population.from_layers(state, dtype=np.float64)
    assert found == Population.from_layers(weights, bias, dtype=np.float64)


def test_equal_links_of_networks_have_equal_innovations() -> None:
    weights = matrices(density=1.0)
    pruned = [w * (np.random.default_rng(3).random(w.shape) < 0.6) for w in weights]
    population = Population.from_layers([weights, pruned])
    known = {(c.source, c.target): c.innovation for c in population[0].connections}
    for link in population[1].connections:
        assert known[link.source, link.target] == link.innovation


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([],), OptionError, "no layers"),
        (([np.ones((2, 3)), np.ones((2, 3))],), ShapeError, "layer 1 has 2 inputs"),
        (([np.ones((2, 3))], [np.ones(2)]), ShapeError, r"layer 0: biases must be \[3\]"),
        (([np.ones((2, 3))], [0.0, 0.0]), OptionError, "2 entries for 1 layers"),
        (([np.array([[1.0, np.nan]])],), ShapeError, "layer 0: weight 1 is nan"),
        (([np.ones((2, 2))], [np.array([0, np.inf])]), ShapeError, "bias 1 is inf"),
        (([np.array([["a"]])],), ShapeError, "must be real numbers"),
        (([np.ones((2, 3))], None, "swoosh"), UnknownFunctionError, "swoosh"),
        (([np.ones((2, 3))], None, ["relu", "relu"]), OptionError, "activation has 2"),
        (([[np.ones((2, 3))], [np.ones((3, 3))]],), ShapeError, "equally many inputs"),
        (({"a.weight": np.ones(3)},), ShapeError, "Linear layers are"),
        (({"conv.kernel": np.ones((3, 3))},), ShapeError, "no linear layer"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        Population.from_layers(*arguments)


def test_numbers_too_large_for_float32_are_refused() -> None:
    with pytest.raises(ShapeError, match="not finite"):
        Population.from_layers([np.array([[1e300]])])
