"""The forward kernels on the SIMT runner: the bits of the cpu backend, whatever the launch."""

from __future__ import annotations

import functools
import itertools
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evonet import Population
from evonet.backends.cuda.cost import Workload
from evonet.backends.cuda.plan import candidate_plans, option_sets
from evonet.backends.reference.loss import total_loss
from evonet.definitions.dynamics import FEEDFORWARD, Dynamics
from evonet.functions.registry import ACTIVATION_IDS, AGGREGATION_IDS, LOSSES
from evonet.genes.genome import Connection, Node
from evonet.installation import resource_folder
from evonet.schedule import Schedule, build_schedule
from tests import simt
from tests.support import strategies
from tests.support.cuda_runs import SMALL, TINY, compiled, run_forward, run_loss, run_plan
from tests.support.random_networks import random_genes, random_samples

DTYPES = (np.float32, np.float64)
MAPPINGS = ("levels", "samples", "wide")


def assert_same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    kind = f"u{expected.itemsize}"
    np.testing.assert_array_equal(found.view(kind), expected.view(kind))


def cpu(schedule: Schedule, x: np.ndarray) -> np.ndarray:
    from evonet.backends.cpu import CpuBackend

    return CpuBackend().bind(schedule, 1).forward(np.ascontiguousarray(x))


def genes_of_all_kinds(
    dtype: Any, count: int = 24, most_hidden: int = 24, dynamics: Dynamics = FEEDFORWARD
) -> Schedule:
    rng = random.Random("kernels")
    genes = [
        random_genes(rng, 3, 2, rng.randint(0, most_hidden), cyclic=rng.random() < 0.2)
        for _ in range(count)
    ]
    return build_schedule(Population.from_genes(3, 2, genes, dtype), dynamics, on_cycle="zero")


def some_samples(*shape: int, dtype: Any) -> np.ndarray:
    return random_samples(random.Random(str(shape)), shape, dtype)


def test_every_option_set_gives_the_bits_of_the_cpu() -> None:
    seen = set()
    for dtype, kind in itertools.product(DTYPES, ("feedforward", "ctrnn")):
        schedule = genes_of_all_kinds(dtype, dynamics=Dynamics.of(kind))
        for num_samples, limits in itertools.product((1, 37, 130), (SMALL, TINY)):
            x = some_samples(num_samples, 3, dtype=dtype)
            expected = cpu(schedule, x)
            work = Workload.of(schedule, 0, schedule.num_genomes, num_samples, True)
            plans = candidate_plans(work, limits, "auto")
            for plan in (*plans, *candidate_plans(work, limits, "wide")):
                key = (plan.kernel, *sorted(plan.defines.items()))
                if (key, num_samples) in seen and plan.team_size not in (8, plan.tile):
                    continue  # a launch like others before
                seen |= {key, (key, num_samples)}
                found = run_plan(schedule, x, plan, work, 0, schedule.num_genomes)
                assert_same_bits(found, expected)
    forward = [options for options in option_sets() if options[0].startswith("forward")]
    assert {(kernel, *sorted(defines.items())) for kernel, defines in forward} <= seen


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("limits", [SMALL, TINY], ids=["shared", "global"])
def test_bits_do_not_depend_on_the_order_of_threads(mapping: str, dtype: Any, limits: Any) -> None:
    schedule = genes_of_all_kinds(dtype)
    for x in (some_samples(9, 3, dtype=dtype), some_samples(24, 9, 3, dtype=dtype)):
        expected = cpu(schedule, x)
        for order in ("forward", "reverse", "random"):
            found = run_forward(schedule, x, mapping, limits=limits, order=order, seed=5)
            assert_same_bits(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("limits", [SMALL, TINY], ids=["shared", "global"])
@pytest.mark.parametrize("num_samples", [1, 3, 67])
def test_checked_mode_finds_nothing(
    mapping: str, dtype: Any, limits: Any, num_samples: int
) -> None:
    schedule = genes_of_all_kinds(dtype, count=7, most_hidden=9)
    x = some_samples(7, num_samples, 3, dtype=dtype)
    found = run_forward(schedule, x, mapping, limits=limits, mode="checked", order="random")
    assert_same_bits(found, cpu(schedule, x))


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("name", sorted(ACTIVATION_IDS))
def test_every_activation(mapping: str, name: str) -> None:
    for dtype in DTYPES:
        population = Population.random(
            2, 4, 5, num_nodes=9, num_connections=24, activations=[name], dtype=dtype, bias_scale=3
        )
        schedule = build_schedule(population)
        x = some_samples(40, 4, dtype=dtype)
        assert_same_bits(run_forward(schedule, x, mapping), cpu(schedule, x))


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("name", sorted(AGGREGATION_IDS))
def test_every_aggregation_with_links_for_several_chunks(mapping: str, name: str) -> None:
    for dtype in DTYPES:
        population = Population.random(
            3, 300, 3, num_nodes=6, num_connections=900, aggregations=[name], dtype=dtype
        )
        schedule = build_schedule(population)
        x = some_samples(4, 300, dtype=dtype)
        assert_same_bits(run_forward(schedule, x, mapping), cpu(schedule, x))


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_a_large_genome_and_small_ones_share_a_launch(mapping: str) -> None:
    rng = random.Random("sizes")
    genes = [random_genes(rng, 2, 1, size) for size in (0, 1200, 1, 0, 40)]
    schedule = build_schedule(Population.from_genes(2, 1, genes, np.float32))
    x = some_samples(5, 2, dtype=np.float32)
    assert_same_bits(run_forward(schedule, x, mapping), cpu(schedule, x))


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_outputs_behind_a_cycle_are_zero(mapping: str) -> None:
    nodes = [Node(key=0, activation="identity")]
    population = Population.from_genes(
        1,
        1,
        [
            (nodes, [Connection(0, 0, 1.0, True, 0)]),
            (nodes, [Connection(-1, 0, 2.0, True, 0)]),
        ],
        np.float32,
    )
    schedule = build_schedule(population, on_cycle="zero")
    x = np.ones((3, 1), np.float32)
    found = run_forward(schedule, x, mapping)
    np.testing.assert_array_equal(found[:, :, 0], [[0, 0, 0], [2, 2, 2]])


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_networks_without_inputs(mapping: str) -> None:
    population = Population.random(5, 0, 2, num_nodes=4, num_connections=3)
    schedule = build_schedule(population)
    x = np.zeros((6, 0), np.float32)
    assert_same_bits(run_forward(schedule, x, mapping), cpu(schedule, x))


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("num_inputs", [0, 2])
def test_networks_without_any_level(num_inputs: int, mapping: str) -> None:
    only_a_cycle = ([0], [(0, 0, 1.0)])
    population = Population.from_genes(num_inputs, 1, [only_a_cycle])
    schedule = build_schedule(population, on_cycle="zero")
    assert schedule.num_nodes == 0
    x = np.zeros((3, num_inputs), np.float32)
    assert_same_bits(run_forward(schedule, x, mapping), cpu(schedule, x))


@settings(max_examples=40)
@given(strategies.populations(min_genomes=1), st.sampled_from(MAPPINGS), st.data())
def test_arbitrary_genomes(population: Population, mapping: str, data: st.DataObject) -> None:
    schedule = build_schedule(population, on_cycle="zero")
    num_samples = data.draw(st.integers(1, 3))
    shape = (num_samples, population.num_inputs)
    if data.draw(st.booleans()):
        shape = (population.num_genomes, *shape)
    x = some_samples(*shape, dtype=population.dtype)
    assert_same_bits(run_forward(schedule, x, mapping), cpu(schedule, x))


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_pieces_of_a_population_give_the_rows_of_the_whole(mapping: str, dtype: Any) -> None:
    schedule = genes_of_all_kinds(dtype)
    x = some_samples(24, 5, 3, dtype=dtype)
    whole = cpu(schedule, x)
    for begin, end in ((0, 1), (3, 11), (23, 24)):
        found = run_forward(schedule, x[begin:end], mapping, begin=begin, end=end)
        assert_same_bits(found, whole[begin:end])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("loss", range(len(LOSSES)))
@pytest.mark.parametrize("mode", ["plain", "checked"])
def test_losses(dtype: Any, loss: int, mode: str) -> None:
    for num_genomes, num_samples, num_outputs in ((1, 1, 1), (5, 32, 1), (6, 70, 3), (3, 31, 2)):
        y = some_samples(num_genomes, num_samples, num_outputs, dtype=dtype)
        targets = some_samples(num_samples, num_outputs, dtype=dtype)
        targets[np.isnan(targets)] = 0.5  # which class a NaN means is nobody's to say
        for order in ("forward", "reverse", "random"):
            found = run_loss(y, targets, loss, mode=mode, order=order)
            assert_same_bits(found, np.array([total_loss(loss, rows, targets) for rows in y]))


def test_the_loss_of_no_samples_is_zero() -> None:
    empty = np.empty((3, 0, 2), np.float32)
    assert_same_bits(run_loss(empty, empty[0], 0), np.zeros((3, 2), np.float32))


MEDIAN = """
#include "nodes/aggregations.h"
using namespace evonet;
extern "C" __global__ void medians(int n, const REAL* x, REAL* sorted, REAL* found) {
  found[0] = median_of<REAL>(n, [&](int i) { return x[i]; });
  found[1] = median_inplace(sorted, n);
}
"""


@functools.cache
def medians(real: str) -> simt.Kernel:
    kernels = resource_folder("kernels")
    return simt.compile(MEDIAN, include_dirs=[kernels], defines={"REAL": real}).get_function(
        "medians"
    )


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_median_without_memory_has_the_bits_of_the_one_that_sorts(
    dtype: Any, data: st.DataObject
) -> None:
    width = np.dtype(dtype).itemsize * 8
    few = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, float("inf"), float("-inf")])
    numbers = st.one_of(st.floats(width=width), few)
    x = np.array(data.draw(st.lists(numbers, min_size=1, max_size=40)), dtype)
    found = np.empty(2, dtype)
    kernel = medians("float" if dtype == np.float32 else "double")
    kernel((1,), (1,), (np.int32(len(x)), x, x.copy(), found))
    assert_same_bits(found[:1], found[1:])


@pytest.mark.parametrize(("kernel", "defines"), option_sets())
def test_the_compiled_kernels_are_those_that_ship(kernel: str, defines: dict[str, Any]) -> None:
    assert compiled(kernel, tuple(defines.items())).kernel_names == [kernel]
