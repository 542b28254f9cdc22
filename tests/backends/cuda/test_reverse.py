"""Gradients and learning on imaginary GPUs: the bits of the cpu, whatever the launch."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evonet
from evonet import DeviceMemoryError, Population
from evonet.backends import resolve_backend
from evonet.backends.cuda import compiler
from evonet.backends.cuda.reverse import REGISTERS, option_sets
from evonet.backends.learning import LearningState, UpdateRule
from evonet.definitions.dynamics import Dynamics
from evonet.functions.registry import AGGREGATION_IDS, LOSS_IDS
from evonet.schedule import Schedule, build_schedule
from tests.backends.cuda.test_compile import ARCHS, why_missing
from tests.backends.cuda.test_kernels import assert_same_bits
from tests.cupy_stand_in import Machine
from tests.cupy_stand_in.streams import PACES
from tests.support.ptx_rules import find_faults
from tests.support.random_networks import random_genes

Lend = Callable[..., Machine]
DTYPES = (np.float32, np.float64)


def schedule_of(kind: str = "feedforward", dtype: Any = np.float32, count: int = 6) -> Schedule:
    """Genomes of all functions, in which every node keeps its value."""
    rng = random.Random("reverse")
    genes = [random_genes(rng, 3, 2, rng.randint(0, 12)) for _ in range(count)]
    population = Population.from_genes(3, 2, genes, dtype)
    return build_schedule(population, Dynamics.of(kind), on_cycle="zero", reuse_slots=False)


def examples(num_steps: int, num_samples: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(num_steps, num_samples, 3)).astype(dtype)
    return x, rng.uniform(0.1, 0.9, size=(num_steps, num_samples, 2)).astype(dtype)


def assert_same(found: Any, expected: Any) -> None:
    assert_same_bits(found.losses, expected.losses)
    for mine, theirs in zip(found.genes, expected.genes, strict=True):
        assert_same_bits(mine, theirs)
    assert_same_bits(found.cell, expected.cell)
    if expected.x is not None:
        assert_same_bits(found.x, expected.x)


@pytest.mark.parametrize("kind", ["feedforward", "recurrent", "ctrnn"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["plain", "checked"])
def test_gradients_have_the_bits_of_the_cpu(
    kind: str, dtype: Any, mode: str, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    machine.mode, machine.order = mode, "random"
    schedule = schedule_of(kind, dtype, count=30 if mode == "plain" else 5)
    gpu, cpu = (resolve_backend(name).bind(schedule, 1) for name in ("cuda", "cpu"))
    steps = 1 if kind == "feedforward" else 3
    for num_samples in (1, 70) if mode == "plain" else (37,):
        x, targets = examples(steps, num_samples, dtype)
        for loss in ("squared", "cross_entropy"):
            for answers in (targets, targets[-1:]):
                arguments = (x, answers, LOSS_IDS[loss])
                assert_same(
                    gpu.gradient(*arguments, inputs=True), cpu.gradient(*arguments, inputs=True)
                )


def test_every_genome_may_have_its_own_samples(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    schedule = schedule_of()
    gpu, host = (resolve_backend(name).bind(schedule, 1) for name in ("cuda", "reference"))
    x, targets = examples(6, 40, np.float32)
    arguments = (x[:, None], targets[:1], LOSS_IDS["huber"])
    assert_same(gpu.gradient(*arguments, inputs=True), host.gradient(*arguments, inputs=True))
    losses = gpu.gradient(*arguments, backward=False).losses
    assert_same_bits(losses, host.gradient(*arguments).losses)


@pytest.mark.parametrize("name", sorted(AGGREGATION_IDS))
def test_every_aggregation(name: str, imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    population = Population.random(3, 5, 2, num_nodes=9, num_connections=30, aggregations=[name])
    x = np.random.default_rng(1).normal(size=(40, 5)).round(1)  # ties, too
    targets = np.full((40, 2), 0.5)
    found, expected = (
        evonet.compile(population, backend=backend).gradients(x, targets)
        for backend in ("cuda", "cpu")
    )
    assert_same_bits(found[0], expected[0])
    for key, array in expected[1].items():
        assert_same_bits(found[1][key], array)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["plain", "checked"])
def test_custom_functions_are_differentiated(dtype: Any, mode: str, imaginary_gpus: Lend) -> None:
    evonet.register_activation("reverse_swish", "x / (1 + exp(-x))")
    evonet.register_aggregation("reverse_norm", "sqrt(sum(x * x)) + 0.1 * max(x)")
    imaginary_gpus().mode = mode
    population = Population.random(
        *(5, 3, 2),
        num_nodes=9,
        num_connections=30,
        activations=["reverse_swish", "tanh"],
        aggregations=["reverse_norm", "sum"],
        dtype=dtype,
    )
    rng = np.random.default_rng(4)
    x, targets = rng.normal(size=(40, 3)), rng.uniform(size=(40, 2))
    found, expected = (
        evonet.compile(population, backend=backend).gradients(x, targets, inputs=True)
        for backend in ("cuda", "cpu")
    )
    assert np.abs(expected[1]["weight"]).max() > 0
    assert_same_bits(found[0], expected[0])
    for key, array in expected[1].items():
        assert_same_bits(found[1][key], array)


@pytest.mark.parametrize("optimizer", [0, 1, 2])
@pytest.mark.parametrize("dtype", DTYPES)
def test_learning_has_the_bits_of_the_cpu(optimizer: int, dtype: Any, imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus(num_devices=2)
    schedule = schedule_of(dtype=dtype, count=12)
    x, targets = examples(1, 90, dtype)
    order = np.random.default_rng(0).permuted(np.tile(np.arange(90), (5, 1)), axis=1)
    order = np.ascontiguousarray(order[:, :40])
    steps = np.arange(1, 6)
    corrections = np.stack([0.05 / (1 - 0.9**steps), 1 / (1 - 0.999**steps)], axis=1)
    rule = UpdateRule(
        optimizer, 0.05, 0.9, 0.9, 0.999, 1e-8, 0.01, 0.5, (True, True, False), corrections
    )
    results = []
    for name in ("cuda", "cpu"):
        state = LearningState.start(schedule)
        losses = (
            resolve_backend(name)
            .bind(schedule, 1)
            .learn(state, x, targets, order, LOSS_IDS["squared"], rule)
        )
        results.append((losses, state))
    (mine, my_state), (theirs, their_state) = results
    assert_same_bits(mine, theirs)
    for part in ("genes", "first", "second"):
        for found, expected in zip(
            getattr(my_state, part), getattr(their_state, part), strict=True
        ):
            assert_same_bits(found, expected)
    np.testing.assert_array_equal(my_state.active, their_state.active)
    np.testing.assert_array_equal(my_state.steps, their_state.steps)
    assert machine.launches["learn_step"] == 5


def test_a_genome_whose_gradient_is_not_finite_stops(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    population = Population.random(4, 3, 2, num_nodes=6, num_connections=12, activations=["cube"])
    x = np.random.default_rng(0).normal(size=(30, 3)) * 1e9
    options: dict[str, Any] = {"steps": 4, "batch": 10, "seed": 1}
    found, expected = (
        evonet.learn(population, x, np.zeros((30, 2)), backend=backend, **options)
        for backend in ("cuda", "cpu")
    )
    assert_same_bits(found.weight, expected.weight)


@pytest.mark.parametrize("pace", PACES)
def test_networks_that_learn(pace: Any, imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus(pace=pace)
    population = Population.random(5, 3, 2, num_nodes=8, num_connections=20, seed=3)
    rng = np.random.default_rng(2)
    x, targets = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
    found, expected = (
        evonet.learn(population, x, targets, steps=6, batch=16, seed=4, backend=backend)
        for backend in ("cuda", "cpu")
    )
    for name in ("weight", "bias", "response"):
        assert_same_bits(getattr(found, name), getattr(expected, name))
    assert machine.launches["learn_step"] == 6


def test_every_allocation_may_fail_in_turn(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    schedule = schedule_of()
    x, targets = examples(1, 33, np.float32)
    arguments = (x, targets, LOSS_IDS["squared"])
    expected = resolve_backend("cpu").bind(schedule, 1).gradient(*arguments)
    resolve_backend("cuda").bind(schedule, 1).gradient(*arguments)
    for number in range(1, machine.num_allocations + 1, 2):
        machine.num_allocations, machine.fail_at = 0, {number}
        assert_same(resolve_backend("cuda").bind(schedule, 1).gradient(*arguments), expected)
    machine.num_allocations, machine.fail_at, machine.fail_from = 0, set(), 3
    with pytest.raises(DeviceMemoryError, match="alone does not fit"):
        resolve_backend("cuda").bind(schedule, 1).gradient(*arguments)


@pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(
    ("kernel", "defines"), option_sets(), ids=lambda v: v if isinstance(v, str) else str(v)
)
def test_budgets(kernel: str, defines: dict[str, Any], arch: str) -> None:
    compiled = compiler.compile_kernel(kernel, defines, arch)
    assert find_faults(compiled.ptx, str(defines["REAL"])) == []
    assert "warning" not in compiled.log, compiled.log
    assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in compiled.log
    registers = int(re.findall(r"Used (\d+) registers", compiled.log)[0])
    assert registers <= (REGISTERS if kernel == "gradient" else 64)
