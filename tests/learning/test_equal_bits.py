"""Gradients and learning have the same bits everywhere: reference, threads, SIMD levels, splits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evonet
from evonet import Learner, Lesson, Population
from evonet.definitions.dynamics import Dynamics
from evonet.functions.registry import ACTIVATIONS, AGGREGATIONS
from evonet.installation import require_native
from tests.support.gradient_checks import worst_error

KINDS: list[dict[str, Any]] = [
    {},
    {"kind": "recurrent"},
    {"kind": "recurrent", "propagation": "same-step"},
    {"kind": "recurrent", "steps": 3},
    {"kind": "ctrnn", "time_step": 0.2},
]
LEVELS = require_native().simd_levels()


def make_population(size: int, dtype: Any, seed: int, **options: Any) -> Population:
    usual: dict[str, Any] = {
        "num_nodes": 9,
        "num_connections": 30,
        "activations": tuple(f.name for f in ACTIVATIONS),
        "aggregations": tuple(f.name for f in AGGREGATIONS),
        "enabled": 0.9,
        "weight_scale": 0.5,
    }
    return Population.random(size, 3, 2, dtype=dtype, seed=seed, **{**usual, **options})


def bits(found: tuple[Any, dict[str, Any]]) -> dict[str, bytes]:
    return {"losses": found[0].tobytes(), **{name: a.tobytes() for name, a in found[1].items()}}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", KINDS, ids=str)
def test_native_gradients_are_the_references(
    options: dict[str, Any], dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = bool(options)
    population = make_population(6, dtype, 3, feed_forward=not memory)
    rng = np.random.default_rng(0)
    for num_samples in (1, 33, 70) if memory else (1, 31, 32, 64, 150):
        shape = (3, num_samples, 3) if memory else (num_samples, 3)
        x = rng.standard_normal(shape)
        targets = rng.random((*shape[:-1], 2))
        wanted = bits(
            evonet.compile(population, backend="reference", **options).gradients(
                x, targets, inputs=True
            )
        )
        for level in LEVELS:
            monkeypatch.setenv("EVONET_SIMD", level)
            network = evonet.compile(population, backend="cpu", threads=1, **options)
            assert bits(network.gradients(x, targets, inputs=True)) == wanted, level
        network = evonet.compile(population, backend="cpu", threads=2, **options)
        assert bits(network.gradients(x, targets, inputs=True)) == wanted


@pytest.mark.parametrize("loss", ["cross_entropy", "binary_cross_entropy", "huber"])
def test_native_slopes_of_losses_are_the_references(loss: str) -> None:
    population = make_population(20, np.float32, 5)
    rng = np.random.default_rng(1)
    x, targets = 3 * rng.standard_normal((40, 3)), rng.random((40, 2))
    found, wanted = (
        evonet.compile(population, backend=backend).gradients(x, targets, loss)  # type: ignore[arg-type]
        for backend in ("cpu", "reference")
    )
    assert bits(found) == bits(wanted)


def test_custom_functions_have_gradients_with_the_same_bits() -> None:
    evonet.register_activation("learning_swish", "x / (1 + exp(-x))")
    evonet.register_aggregation("learning_norm", "sqrt(sum(x * x)) + 0.1 * max(x)")
    population = make_population(
        8,
        np.float64,
        9,
        activations=("learning_swish", "tanh"),
        aggregations=("learning_norm", "sum"),
    )
    rng = np.random.default_rng(4)
    x, targets = rng.standard_normal((40, 3)), rng.random((40, 2))
    found, wanted = (
        evonet.compile(population, backend=backend).gradients(x, targets, inputs=True)  # type: ignore[arg-type]
        for backend in ("cpu", "reference")
    )
    assert bits(found) == bits(wanted)
    assert worst_error(population, x, targets, found[1]) < 1e-6


def test_wild_numbers_have_the_same_bits() -> None:
    population = make_population(60, np.float32, 7, weight_scale=30.0, bias_scale=30.0)
    x = np.array([[np.inf, 1, -1], [0, -0.0, np.nan], [1e30, -1e30, 1e-40], [3.4, 12, 60]] * 9)
    targets = np.tile([[0.0, 1.0]], (len(x), 1))
    for loss in ("squared", "cross_entropy", "binary_cross_entropy", "huber"):
        found, wanted = (
            evonet.compile(population, backend=backend).gradients(x, targets, loss, inputs=True)  # type: ignore[arg-type]
            for backend in ("cpu", "reference")
        )
        assert bits(found) == bits(wanted), loss


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_native_learners_learn_what_the_reference_learns(optimizer: Any, dtype: Any) -> None:
    population = make_population(5, dtype, 11)
    rng = np.random.default_rng(2)
    x, targets = rng.standard_normal((50, 3)), rng.random((50, 2))
    lesson = Lesson(
        steps=7,
        optimizer=optimizer,
        rate=0.02,
        batch=40,
        decay=0.01,
        clip=0.7,
        held_out=0.1,
        check_every=3,
        responses=True,
    )
    wanted = Learner(population, lesson, backend="reference").run(x, targets)
    for threads in (1, 2):
        found = Learner(population, lesson, backend="cpu", threads=threads).run(x, targets)
        assert found.population == wanted.population
        assert found.losses.tobytes() == wanted.losses.tobytes()
        assert found.held_out.tobytes() == wanted.held_out.tobytes()
        assert (found.steps == wanted.steps).all()


def test_sequences_are_learned_with_the_same_bits() -> None:
    population = make_population(4, np.float32, 13, feed_forward=False)
    rng = np.random.default_rng(3)
    x, targets = rng.standard_normal((3, 40, 3)), rng.random((40, 2))
    lesson, dynamics = Lesson(steps=4, batch=35), Dynamics.of("ctrnn", time_step=0.3)
    found, wanted = (
        Learner(population, lesson, dynamics=dynamics, backend=backend).run(x, targets).population
        for backend in ("cpu", "reference")
    )
    assert found == wanted
