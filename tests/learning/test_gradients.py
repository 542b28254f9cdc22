"""Gradients against central differences, and what callers may rely on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evonet
from evonet import OptionError, Population, ShapeError
from evonet.functions.registry import ACTIVATIONS, AGGREGATIONS
from tests.support.gradient_checks import worst_error

MEMORY: list[dict[str, Any]] = [
    {"kind": "recurrent"},
    {"kind": "recurrent", "propagation": "same-step"},
    {"kind": "recurrent", "steps": 2},
    {"kind": "ctrnn", "time_step": 0.3},
]


def make_population(**options: Any) -> Population:
    usual: dict[str, Any] = {
        "num_nodes": 6,
        "num_connections": 14,
        "dtype": "float64",
        "seed": 3,
        "weight_scale": 0.4,
        "bias_scale": 0.3,
    }
    return Population.random(4, 3, 2, **{**usual, **options})


def make_examples(num_samples: int = 5, num_outputs: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(num_samples)
    return rng.standard_normal((num_samples, 3)), rng.random((num_samples, num_outputs))


@pytest.mark.parametrize("activation", [f.name for f in ACTIVATIONS])
def test_every_activation_has_the_slope_of_its_formula(activation: str) -> None:
    population = make_population(activations=(activation,))
    x, targets = make_examples()
    _, found = evonet.compile(population).gradients(x, targets)
    assert worst_error(population, x, targets, found) < 1e-6


@pytest.mark.parametrize("aggregation", [f.name for f in AGGREGATIONS])
def test_every_aggregation_passes_gradients_to_its_links(aggregation: str) -> None:
    population = make_population(
        num_connections=20, activations=("tanh", "sin"), aggregations=(aggregation,), enabled=0.9
    )
    x, targets = make_examples()
    _, found = evonet.compile(population).gradients(x, targets)
    assert worst_error(population, x, targets, found) < 1e-6


@pytest.mark.parametrize("loss", ["squared", "cross_entropy", "huber", "binary_cross_entropy"])
def test_every_loss_is_differentiated(loss: str) -> None:
    population = make_population(weight_scale=0.2, bias_scale=0.1)
    x, targets = make_examples()
    losses, found = evonet.compile(population).gradients(x, targets, loss)
    assert losses.tolist() == evonet.compile(population).loss(x, targets, loss).tolist()
    assert worst_error(population, x, targets, found, loss) < 1e-6


@pytest.mark.parametrize("every", [True, False], ids=["every-step", "last-step"])
@pytest.mark.parametrize("options", MEMORY, ids=str)
def test_networks_with_memory_are_differentiated_through_time(
    options: dict[str, Any], every: bool
) -> None:
    population = make_population(
        num_connections=16,
        feed_forward=False,
        activations=("tanh", "sigmoid", "sin"),
        aggregations=("sum", "mean", "product"),
        enabled=0.9,
    )
    rng = np.random.default_rng(0)
    x, targets = rng.standard_normal((4, 3, 3)), rng.random((4, 3, 2))
    answers = targets if every else targets[-1]
    _, found = evonet.compile(population, **options).gradients(x, answers)
    assert ("time_constant" in found) == (options["kind"] == "ctrnn")
    assert worst_error(population, x, answers, found, **options) < 1e-6


def test_samples_have_gradients_too() -> None:
    population = make_population(activations=("tanh",))
    network = evonet.compile(population)
    x, targets = make_examples()
    _, found = network.gradients(x, targets, inputs=True)
    assert found["x"].shape == (4, 5, 3)
    for b, i in [(0, 0), (3, 2)]:
        up, down = x.copy(), x.copy()
        up[b, i] += 1e-6
        down[b, i] -= 1e-6
        slope = (network.loss(up, targets) - network.loss(down, targets)) / 2e-6
        assert np.allclose(found["x"][:, b, i], slope, atol=1e-6)


def test_genes_that_change_nothing_have_no_gradient() -> None:
    population = make_population(enabled=0.5, seed=8)
    x, targets = make_examples()
    _, found = evonet.compile(population).gradients(x, targets)
    assert (found["weight"][~population.enabled] == 0).all()
    assert found["weight"].shape == population.weight.shape
    assert found["bias"].shape == population.bias.shape


def test_a_product_with_a_zero_passes_its_gradient_to_the_zero() -> None:
    node = {"key": 0, "activation": "identity", "aggregation": "product"}
    genome = Population.from_genes(2, 1, [([node], [(-1, 0, 2.0), (-2, 0, 1.0)])])
    _, found = evonet.compile(genome).gradients([[0.0, 3.0]], [[1.0]])
    # y = (2 * 0) (1 * 3) = 0, and the loss (y - 1)^2 falls with 2 per unit of y.
    assert found["weight"].tolist() == [0.0, 0.0]
    _, of_x = evonet.compile(genome).gradients([[0.0, 3.0]], [[1.0]], inputs=True)
    assert of_x["x"].tolist() == [[[-12.0, 0.0]]]


def test_ties_go_to_the_first_link() -> None:
    for name in ("max", "min", "maxabs"):
        node = {"key": 0, "activation": "identity", "aggregation": name}
        genome = Population.from_genes(2, 1, [([node], [(-1, 0, 1.0), (-2, 0, 1.0)])])
        _, found = evonet.compile(genome).gradients([[1.0, 1.0]], [[0.0]])
        assert found["weight"].tolist() == [2.0, 0.0]


def test_gradients_leave_what_networks_remember() -> None:
    population = make_population(feed_forward=False)
    network = evonet.compile(population, kind="recurrent")
    x, targets = make_examples()
    network(x)
    before = network.state
    network.gradients(x[None], targets)
    assert (network.state == before).all()


def test_own_samples_of_every_genome() -> None:
    population = make_population()
    rng = np.random.default_rng(0)
    x, targets = rng.standard_normal((4, 5, 3)), rng.random((5, 2))
    losses, found = evonet.compile(population).gradients(x, targets)
    for g in range(4):
        alone = population[g : g + 1]
        loss, gradients = evonet.compile(alone).gradients(x[g], targets)
        part = slice(int(population.conn_start[g]), int(population.conn_start[g + 1]))
        assert loss[0] == losses[g]
        assert gradients["weight"].tolist() == found["weight"][part].tolist()


def test_refusals_name_the_reason() -> None:
    population = make_population()
    network = evonet.compile(population)
    x, targets = make_examples()
    with pytest.raises(OptionError, match=r"loss=.misses. is not a choice"):
        network.gradients(x, targets, "misses")
    with pytest.raises(ShapeError, match=r"x must have shape \[B, 3\] or \[4, B, 3\], found \[3\]"):
        network.gradients(x[0], targets)
    with pytest.raises(ShapeError, match=r"targets must have shape \[5, 2\], found \[2, 5\]"):
        network.gradients(x, targets.T)
    with pytest.raises(OptionError, match=r"izhikevich.*no gradients.*fire in jumps"):
        evonet.compile(population, kind="izhikevich").gradients(x[None], targets)
    with pytest.raises(ShapeError, match=r"\[T, B, 3\] or \[4, T, B, 3\], T steps of B sequences"):
        evonet.compile(population, kind="recurrent").gradients(x, targets)
    with pytest.raises(OptionError, match="made from a schedule, which knows no genes"):
        evonet.Network(network.schedule, "reference", 1).gradients(x, targets)
