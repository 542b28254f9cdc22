"""Losses: one fixed tree over samples, on every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evonet
from evonet import Population
from evonet.errors import OptionError, ShapeError
from evonet.functions.registry import LOSSES
from evonet.installation import require_native

NAMES = tuple(loss.name for loss in LOSSES)
DTYPES = (np.float32, np.float64)


def make_population(size: int, num_outputs: int, dtype: Any) -> Population:
    return Population.random(
        size, 3, num_outputs, num_nodes=num_outputs + 4, num_connections=14, dtype=dtype, seed=5
    )


def make_examples(num_samples: int, num_outputs: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(num_samples)
    x = rng.standard_normal((num_samples, 3))
    classes = rng.integers(0, max(2, num_outputs), num_samples)
    targets = np.zeros((num_samples, num_outputs))
    for row, which in zip(targets, classes, strict=True):
        row[which % num_outputs] = 1.0 if num_outputs > 1 else float(which)
    return x, targets


def naive(name: str, y: Any, t: Any) -> Any:
    y = y.astype(np.float64)
    if name == "squared":
        return ((y - t) ** 2).sum(axis=(1, 2))
    if name == "cross_entropy":
        top = y.max(axis=2, keepdims=True)
        log_softmax = y - top - np.log(np.exp(y - top).sum(axis=2, keepdims=True))
        return -(t * log_softmax).sum(axis=(1, 2))
    if name == "huber":
        size = abs(y - t)
        return np.where(size <= 1, size**2 / 2, size - 0.5).sum(axis=(1, 2))
    if name == "binary_cross_entropy":

        def log(p: Any) -> Any:
            return np.where(p > 1e-7, np.log(np.maximum(p, 1e-7)), np.log(1e-7) + 1e7 * p - 1)

        return -(t * log(y) + (1 - t) * log(1 - y)).sum(axis=(1, 2))
    if t.shape[1] == 1:
        return ((y[:, :, 0] >= 0.5) != (t[:, 0] >= 0.5)).sum(axis=1)
    return (y.argmax(axis=2) != t.argmax(axis=1)).sum(axis=1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("name", "num_outputs"),
    [
        ("squared", 1),
        ("squared", 5),
        ("cross_entropy", 2),
        ("cross_entropy", 5),
        ("misses", 1),
        ("misses", 2),
        ("misses", 5),
    ],
)
def test_a_loss_is_what_its_formula_says(name: str, num_outputs: int, dtype: Any) -> None:
    x, targets = make_examples(77, num_outputs)
    network = evonet.compile(make_population(40, num_outputs, dtype))
    found = network.loss(x, targets, name)
    assert found.dtype == np.float64
    tolerance = 2e-5 if dtype is np.float32 else 1e-12
    np.testing.assert_allclose(found, naive(name, network(x), targets), rtol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("num_samples", [0, 1, 2, 31, 32, 33, 64, 101])
def test_backends_threads_and_instruction_sets_add_alike(
    num_samples: int, name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, targets = make_examples(num_samples, 3)
    population = make_population(13, 3, dtype)
    expected = evonet.compile(population, backend="reference").loss(x, targets, name)
    for simd in require_native().simd_levels():
        monkeypatch.setenv("EVONET_SIMD", simd)
        for threads in (1, 3):
            network = evonet.compile(population, backend="cpu", threads=threads)
            assert network.loss(x, targets, name).tobytes() == expected.tobytes()


def test_genomes_may_see_samples_of_their_own() -> None:
    x, targets = make_examples(9, 2)
    population = make_population(6, 2, np.float32)
    shifted = x + np.arange(6)[:, None, None]
    for backend in ("cpu", "reference"):
        found = evonet.compile(population, backend=backend).loss(shifted, targets)
        alone = [
            evonet.compile(population[[g]]).loss(shifted[g], targets)[0]
            for g in range(len(population))
        ]
        assert found.tolist() == alone


def test_outputs_too_many_for_one_go_are_scored_in_parts() -> None:
    x, targets = make_examples(40_001, 3)  # eight genomes fill the outputs that are kept at once
    population = make_population(35, 3, np.float32)
    found = evonet.compile(population, threads=2).loss(x, targets)
    alone = [evonet.compile(population[[g]]).loss(x, targets)[0] for g in range(35)]
    assert found.tolist() == alone


def test_squared_errors_have_more_digits_than_a_float() -> None:
    population = make_population(60, 2, np.float32)
    x, targets = make_examples(50, 2)
    network = evonet.compile(population)
    exact = ((network(x).astype(np.float64) - targets.astype(np.float32)) ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(network.loss(x, targets), exact, rtol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
def test_answers_that_are_not_numbers_are_misses_and_make_losses_nan(dtype: Any) -> None:
    genomes: list[Any] = [
        (
            [(0, 0.0, 1.0, "identity", "sum"), (1, 0.0, 1.0, "identity", "sum")],
            [(-1, 0, 1.0), (-2, 1, 1.0)],
        )
    ]
    population = Population.from_genes(2, 2, genomes, dtype)
    x = np.array([[np.nan, 0.0], [0.0, np.nan], [1.0, 0.0], [np.inf, 1.0], [np.inf, np.inf]])
    targets = np.array([[1.0, 0.0]] * 5)
    for backend in ("cpu", "reference"):
        network = evonet.compile(population, backend=backend)
        assert network.loss(x, targets, "misses").tolist() == [2.0]
        for name in ("squared", "cross_entropy"):
            lost = network.loss(x, targets, name)
            assert np.isnan(lost).all()
            assert lost.tobytes() == np.array([np.nan]).tobytes()


def test_no_genomes_have_no_losses() -> None:
    x, targets = make_examples(4, 2)
    for backend in ("cpu", "reference"):
        network = evonet.compile(make_population(3, 2, np.float32)[:0], backend=backend)
        assert network.loss(x, targets).shape == (0,)


def test_a_wrong_loss_or_shape_is_named() -> None:
    x, targets = make_examples(4, 2)
    network = evonet.compile(make_population(3, 2, np.float32))
    with pytest.raises(OptionError, match='"squared"'):
        network.loss(x, targets, "sqared")
    with pytest.raises(ShapeError, match=r"targets must have shape \[4, 2\].*found \[4, 1\]"):
        network.loss(x, targets[:, :1])
    with pytest.raises(ShapeError, match="targets must be an array of real numbers"):
        network.loss(x, [["a", "b"]] * 4)
    with pytest.raises(ShapeError, match=r"x must have shape"):
        network.loss(x[:, :2], targets)
    single = evonet.compile(make_population(3, 1, np.float32))
    with pytest.raises(OptionError, match="one output per class"):
        single.loss(x, targets[:, :1], "cross_entropy")
