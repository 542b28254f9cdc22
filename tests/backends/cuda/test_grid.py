"""The wide mapping: a launch per level, a graph of all launches, samples that leave."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evonet
from evonet import DeviceMemoryError, Population
from evonet.backends.cuda.arguments import NO_STATE
from evonet.backends.cuda.cost import Workload
from evonet.backends.cuda.grid.launches import forward_launches, pieces
from evonet.backends.cuda.grid.quiet import levels_to_leave
from evonet.backends.cuda.grid.tables import make_tables
from evonet.backends.cuda.launch import LaunchPlan
from evonet.backends.cuda.plan import candidate_plans, plan_forward
from evonet.definitions.dynamics import Dynamics
from evonet.schedule import Schedule, build_schedule
from tests.backends.cuda.test_kernels import assert_same_bits, cpu, genes_of_all_kinds, some_samples
from tests.backends.cuda.test_plan import H100, RTX_3090
from tests.cupy_stand_in import Machine
from tests.cupy_stand_in.streams import PACES
from tests.support.cuda_runs import SMALL, compiled, run_plan, wide_launches
from tests.support.layered import layered_genes, layered_population, sparse_samples

Lend = Callable[..., Machine]
DTYPES = (np.float32, np.float64)


def wide_plans(schedule: Schedule, num_samples: int, shared_x: bool = True) -> list[LaunchPlan]:
    work = Workload.of(schedule, 0, schedule.num_genomes, num_samples, shared_x)
    return candidate_plans(work, SMALL, "wide")


def in_pieces(plan: LaunchPlan, columns: int) -> LaunchPlan:
    """The same plan with fewer samples at a time."""
    values = plan.team_values // plan.columns * columns
    return dataclasses.replace(plan, columns=columns, team_values=values)


@pytest.mark.parametrize("kind", ["feedforward", "recurrent", "ctrnn", "izhikevich"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_plan_gives_the_bits_of_the_cpu(kind: str, dtype: Any) -> None:
    schedule = genes_of_all_kinds(dtype, dynamics=Dynamics.of(kind))
    for num_samples in (1, 37, 300):
        x = some_samples(num_samples, 3, dtype=dtype)
        expected = cpu(schedule, x)
        work = Workload.of(schedule, 0, schedule.num_genomes, num_samples, True)
        plans = wide_plans(schedule, num_samples)
        assert {plan.defines["VECTOR"] for plan in plans} == {4, 2, 1} - {
            16 // dtype().itemsize * 2
        }
        for plan in plans[:: max(1, len(plans) // 4)]:
            for chosen in {plan.columns, plan.tile}:
                found = run_plan(schedule, x, in_pieces(plan, chosen), work, 0, work.num_genomes)
                assert_same_bits(found, expected)


def follow(
    schedule: Schedule, x: np.ndarray, plan: LaunchPlan, mode: str = "plain", order: str = "forward"
) -> tuple[np.ndarray, list[list[int]]]:
    """Runs a plan; also returns how many columns every genome has after each census."""
    work = Workload.of(schedule, 0, schedule.num_genomes, x.shape[-2], x.ndim == 2)
    launches, arrays = wide_launches(schedule, plan, work, 0, work.num_genomes)
    y = np.full((work.num_genomes, work.num_samples, work.num_outputs), 123, schedule.dtype)
    counts = []
    for piece in pieces(plan, work.num_samples):
        for one in forward_launches(launches, schedule, piece, x, y, NO_STATE):
            kernel = compiled(one.kernel, tuple(one.defines.items()), mode).get_function(one.kernel)
            kernel(
                one.grid,
                one.block,
                one.arguments,
                shared_mem=one.shared_mem,
                order=order,  # type: ignore[arg-type]
            )
            if one.kernel == "grid_census":
                counts.append(arrays["num_columns"].tolist())
    return y, counts


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["plain", "checked"])
def test_samples_that_stay_zero_leave_without_changing_a_bit(dtype: Any, mode: str) -> None:
    schedule = build_schedule(layered_population(3, 16, 10, dtype))
    x = sparse_samples(3, 300, 16, dtype=dtype, density=0.75)
    expected = cpu(schedule, x)
    alive = (expected != 0).any(-1).sum(1)
    assert ((alive > 0) & (alive < 250)).all()
    for plan in wide_plans(schedule, 300, shared_x=False)[:: 1 if mode == "plain" else 5]:
        for columns in (plan.columns, 128):
            found, counts = follow(schedule, x, in_pieces(plan, columns), mode, order="random")
            assert_same_bits(found, expected)
            assert len(counts) == 3 * -(-300 // columns)
        # Those of the last piece that leave have left when its last census is over.
        last = slice(300 // 128 * 128, None)
        assert (np.array(counts[-1]) >= (expected[:, last] != 0).any(-1).sum(1)).all()
        assert (np.array(counts[-1]) < 300 % 128).all()


def test_a_sample_that_dies_early_is_not_evaluated_again() -> None:
    """All samples but one are zero, so that one block of columns is left."""
    schedule = build_schedule(layered_population(1, 16, 10, np.float32, bias=-0.1))
    x = np.zeros((200, 16), np.float32)
    x[133] = 1
    plan = wide_plans(schedule, 200)[0]
    found, counts = follow(schedule, x, plan)
    assert counts == [[1], [1], [1]]
    assert_same_bits(found, cpu(schedule, x))
    assert (found[0, 133] != 0).any()


def leaving(bias: float = -0.5, **options: Any) -> list[bool]:
    schedule = build_schedule(
        Population.from_genes(
            6, 6, [layered_genes(6, 4, num_links=2, bias=bias, **options)], np.float32
        )
    )
    return levels_to_leave(schedule).tolist()


def test_samples_may_leave_after_every_level_but_the_last_of_a_layered_network() -> None:
    assert leaving() == [True, True, True, False]
    assert leaving(bias=-0.0) == [True, True, True, False]
    assert leaving(bias=0.0, activation="tanh") == [True, True, True, False]


@pytest.mark.parametrize(
    "options",
    [
        {"bias": 0.5},  # zeros become 0.5
        {"activation": "sigmoid"},
        {"activation": "identity"},  # -0.5
        {"activation": "lelu"},
        {"skip": True},  # the last layer reads inputs
    ],
)
def test_samples_stay_where_zeros_do_not_stay_zeros(options: dict[str, Any]) -> None:
    assert leaving(**options) == [False] * 4


def changed(**changes: Any) -> list[bool]:
    """A layered network whose last level has one node or link that is different."""
    schedule = build_schedule(
        Population.from_genes(4, 4, [layered_genes(4, 3, num_links=2)], np.float32)
    )
    arrays = {}
    for name, value in changes.items():
        array = getattr(schedule, name).copy()
        array[-1] = value
        arrays[name] = array
    return levels_to_leave(dataclasses.replace(schedule, **arrays)).tolist()


@pytest.mark.parametrize(
    "changes",
    [
        {"weight": np.inf},  # inf * 0 is NaN
        {"weight": np.nan},
        {"bias": 1.0},
        {"bias": np.nan, "activation": 9},
        {"aggregation": evonet.functions.registry.AGGREGATION_IDS["product"]},
        {"aggregation": evonet.functions.registry.AGGREGATION_IDS["min"]},
    ],
)
def test_one_node_that_is_not_quiet_keeps_all_samples(changes: dict[str, Any]) -> None:
    assert changed() == [True, True, False]
    assert changed(**changes) == [False, False, False]


def test_a_zero_with_a_sign_is_no_reason_to_leave() -> None:
    """Outputs keep the sign of a zero, so a sample with -0 stays."""
    nodes, links = layered_genes(4, 3, num_links=2, bias=0.0, activation="identity")
    population = Population.from_genes(4, 4, [(nodes, links)], np.float32)
    schedule = build_schedule(population)
    x = np.zeros((40, 4), np.float32)
    x[::2] = -0.0
    plan = wide_plans(schedule, 40)[0]
    found, _ = follow(schedule, x, plan)
    assert_same_bits(found, cpu(schedule, x))


@settings(max_examples=25)
@given(st.data())
def test_strips_cover_every_node_once(data: st.DataObject) -> None:
    widths = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    population = Population.random(
        data.draw(st.integers(1, 5)), 3, 2, num_nodes=sum(widths) + 2, num_connections=9
    )
    schedule = build_schedule(population)
    strip = data.draw(st.sampled_from([1, 2, 4, 8]))
    begin = data.draw(st.integers(0, schedule.num_genomes - 1))
    tables = make_tables(schedule, begin, schedule.num_genomes, strip)
    assert tables.strips[:, 3].sum() == len(tables.rows)
    assert tables.strips[:, 3].max(initial=0) <= strip
    assert (tables.strips[:, 3] > 0).all()
    assert (tables.strips[:, 1] < tables.strips[:, 2]).all()
    nodes = slice(int(schedule.node_start[begin]), None)
    assert sorted(tables.rows[:, 1].tolist()) == sorted(schedule.slot[nodes].tolist())


def test_wide_levels_are_chosen_for_one_large_network() -> None:
    large = Workload(
        num_genomes=1,
        num_inputs=1024,
        num_outputs=1024,
        num_samples=60_000,
        shared_x=True,
        dtype=np.dtype(np.float32),
        num_nodes=1024 * 120,
        num_edges=1024 * 120 * 32,
        num_levels=120,
        max_slots=2048,
        max_level_width=1024,
    )
    for limits in (SMALL, RTX_3090, H100):
        assert plan_forward(large, limits).mapping == "wide"
    narrow = dataclasses.replace(large, max_level_width=512)
    assert "wide" not in {plan.mapping for plan in candidate_plans(narrow, SMALL, "auto")}


# ---- the host path ------------------------------------------------------------------------------


def wide_network(dtype: Any = np.float32, **options: Any) -> tuple[Population, np.ndarray]:
    population = layered_population(3, 16, 10, dtype, **options)
    return population, sparse_samples(70, 16, dtype=dtype, density=0.75)


@pytest.mark.parametrize("pace", PACES)
def test_levels_are_captured_once_and_replayed(pace: Any, imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus(pace=pace)
    population, x = wide_network()
    expected = evonet.compile(population, backend="cpu")(x)
    network = evonet.compile(population, backend="cuda", mapping="wide")
    for _ in range(3):
        assert_same_bits(network(x), expected)
    assert (machine.num_graphs, machine.graph_launches) == (1, 3)
    assert machine.launches["grid_inputs"] == machine.launches["grid_outputs"] == 3
    # A few samples less fill the same columns; far fewer have another plan, and so another graph.
    assert_same_bits(network(x[:69]), expected[:, :69])
    assert (machine.num_graphs, machine.graph_launches) == (1, 4)
    assert_same_bits(network(x[:3]), expected[:, :3])
    assert (machine.num_graphs, machine.graph_launches) == (2, 5)


def test_chunks_of_equal_plans_have_programs_of_their_own(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    population, x = wide_network()
    same = Population.concatenate([population[:1]] * 2 + [population[1:2]] * 2)
    expected = evonet.compile(same, backend="cpu")(x)
    network = evonet.compile(same, backend="cuda", mapping="wide")
    machine.fail_at = {machine.num_allocations + 20}
    for _ in range(2):
        assert_same_bits(network(x), expected)


@pytest.mark.parametrize("pace", PACES)
def test_streams_share_a_graph(pace: Any, imaginary_gpus: Lend) -> None:
    imaginary_gpus(pace=pace)
    import cupy

    population, x = wide_network()
    cpu_network = evonet.compile(population, backend="cpu")
    network = evonet.compile(population, backend="cuda", mapping="wide")
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
    outputs = []
    for turn in range(6):
        with streams[turn % 3]:
            outputs.append(network(np.roll(x, turn, axis=0), out="device"))
    for turn in reversed(range(6)):
        with streams[turn % 3]:
            expected = cpu_network(np.roll(x, turn, axis=0))
            assert_same_bits(outputs[turn].get(), expected)


@pytest.mark.parametrize("kind", ["recurrent", "ctrnn"])
def test_networks_with_memory_remember(kind: Any, imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    population = Population.random(4, 3, 2, num_nodes=12, num_connections=40, seed=5)
    gpu, host = (
        evonet.compile(population, kind, backend=backend, mapping="wide")
        for backend in ("cuda", "cpu")
    )
    for turn in range(3):
        x = some_samples(9 + 0 * turn, 3, dtype=np.float32) + np.float32(turn)
        assert_same_bits(gpu(x), host(x))
    assert_same_bits(gpu.state, host.state)


def test_every_allocation_may_fail_in_turn(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    population, x = wide_network()
    expected = evonet.compile(population, backend="cpu")(x)
    evonet.compile(population, backend="cuda", mapping="wide")(x)
    count = machine.num_allocations
    assert count > 10
    for number in range(1, count + 1):
        machine.num_allocations, machine.fail_at = 0, {number}
        network = evonet.compile(population, backend="cuda", mapping="wide")
        assert_same_bits(network(x), expected)
    machine.num_allocations, machine.fail_at, machine.fail_from = 0, set(), 5
    with pytest.raises(DeviceMemoryError, match="alone does not fit"):
        evonet.compile(population, backend="cuda", mapping="wide")(x)


def test_a_failed_capture_leaves_the_stream_usable(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = imaginary_gpus()
    population, x = wide_network()
    network = evonet.compile(population, backend="cuda", mapping="wide")
    expected = evonet.compile(population, backend="cpu")(x)
    network(x[:5])  # all kernels are loaded
    machine.launch_fault = 700
    with pytest.raises(evonet.DeviceError, match="illegal memory access"):
        network(x)
    machine.launch_fault = 0
    assert not machine.captures
    assert_same_bits(network(x), expected)
