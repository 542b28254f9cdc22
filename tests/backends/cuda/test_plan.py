"""The cost model: what it may choose, and that it chooses with sense."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evonet import DeviceError, OptionError, Population
from evonet.backends.cuda.cost import Workload
from evonet.backends.cuda.launch import LaunchPlan
from evonet.backends.cuda.limits import DeviceLimits
from evonet.backends.cuda.plan import (
    STATIC_SHARED,
    candidate_plans,
    option_sets,
    plan_forward,
)
from evonet.schedule import build_schedule
from tests.support import strategies
from tests.support.cuda_runs import SMALL

KIB = 1024
RTX_3090 = DeviceLimits("sm_86", 82, 99 * KIB, 100 * KIB, 1536, 65536)
T4 = DeviceLimits("sm_75", 40, 64 * KIB, 64 * KIB, 1024, 65536)
H100 = DeviceLimits("sm_90", 132, 227 * KIB, 228 * KIB, 2048, 65536)


def workload(
    genomes: int = 1000,
    nodes: int = 50,
    links: int = 200,
    samples: int = 128,
    levels: int = 8,
    dtype: Any = np.float32,
) -> Workload:
    return Workload(
        num_genomes=genomes,
        num_inputs=8,
        num_outputs=4,
        num_samples=samples,
        shared_x=True,
        dtype=np.dtype(dtype),
        num_nodes=genomes * nodes,
        num_edges=genomes * links,
        max_slots=nodes + 8,
        max_level_width=-(-nodes // levels),
        num_levels=genomes * levels,
    )


WORKLOADS = st.builds(
    workload,
    genomes=st.integers(1, 10**6),
    nodes=st.integers(1, 20_000),
    links=st.integers(0, 100_000),
    samples=st.integers(1, 10**4),
    levels=st.integers(1, 300),
    dtype=st.sampled_from([np.float32, np.float64]),
)


def is_power_of_2(n: int) -> bool:
    return n > 0 and n & (n - 1) == 0


@given(WORKLOADS, st.sampled_from([SMALL, RTX_3090, T4, H100]))
def test_every_candidate_is_a_legal_launch(work: Workload, limits: DeviceLimits) -> None:
    plans = candidate_plans(work, limits, "auto")
    assert "samples" in {plan.mapping for plan in plans}
    known = option_sets()
    for plan in plans:
        assert (plan.kernel, dict(plan.defines)) in known
        if plan.mapping == "wide":
            check_wide(plan, work)
            continue
        assert plan.kernel == f"forward_{plan.mapping}"
        assert plan.shared_mem + STATIC_SHARED <= limits.shared_per_block_optin
        check_teams(plan, work)
        check_memory(plan, work)


def check_wide(plan: LaunchPlan, work: Workload) -> None:
    assert work.max_level_width > 512
    assert math.prod(plan.block) == 32 * int(plan.defines["WARPS"]) <= 1024
    assert plan.tile == 32 * int(plan.defines["VECTOR"])
    assert plan.columns % plan.tile == 0
    assert 0 < plan.columns * work.dtype.itemsize < 2**31
    assert plan.team_values == work.max_slots * plan.columns
    assert plan.scratch_nbytes == work.num_genomes * plan.team_values * work.dtype.itemsize
    assert math.prod(plan.grid) < 2**31
    assert 0 < plan.strip <= 64


def check_teams(plan: LaunchPlan, work: Workload) -> None:
    wide = plan.defines.get("WIDE_TEAM")
    assert math.prod(plan.block) <= (512 if wide else 128)
    assert math.prod(plan.block) % plan.team_size == 0
    assert is_power_of_2(plan.team_size)
    assert is_power_of_2(plan.tile)
    teams_per_block = math.prod(plan.block) // plan.team_size
    num_teams = work.num_genomes * -(-work.num_samples // plan.tile)
    if plan.mapping == "samples":
        assert plan.team_size == 32
        assert plan.tile == 32 * int(plan.defines["VECTOR"])
    else:
        assert plan.team_size >= plan.tile
        assert teams_per_block == 1 if wide else plan.team_size <= 32
    if plan.scratch_nbytes == 0:
        assert plan.grid[0] == -(-num_teams // teams_per_block)
    else:
        assert 0 < plan.grid[0] <= -(-num_teams // teams_per_block)


def check_memory(plan: LaunchPlan, work: Workload) -> None:
    per_thread = int(plan.defines.get("VECTOR", 1))
    row = plan.tile if plan.mapping == "levels" else 32 * per_thread
    assert plan.team_values >= work.max_slots * row
    teams_per_block = math.prod(plan.block) // plan.team_size
    values = teams_per_block * plan.team_values * work.dtype.itemsize
    chunks = 512 * teams_per_block if plan.mapping == "samples" else 0
    if plan.defines["GLOBAL_VALUES"]:
        assert plan.shared_mem == chunks
        assert plan.scratch_nbytes == plan.grid[0] * values
    else:
        assert plan.shared_mem == chunks + values
        assert plan.scratch_nbytes == 0
    if plan.mapping == "samples":
        assert (plan.shared_mem // teams_per_block) % 512 == 0


@given(WORKLOADS)
def test_the_cheapest_candidate_wins(work: Workload) -> None:
    best = plan_forward(work, RTX_3090)
    plans = candidate_plans(work, RTX_3090, "auto")
    assert best.cycles == min(plan.cycles for plan in plans)


@pytest.mark.parametrize("mapping", ["levels", "samples", "wide"])
def test_a_mapping_can_be_forced(mapping: Any) -> None:
    for samples in (1, 1000):
        assert plan_forward(workload(samples=samples), RTX_3090, mapping).mapping == mapping


def test_many_samples_of_small_networks_go_by_samples() -> None:
    work = workload(genomes=10_000, nodes=20, links=60, samples=4096)
    assert plan_forward(work, RTX_3090).mapping == "samples"


def test_many_links_of_few_nodes_get_four_samples_per_thread() -> None:
    plan = plan_forward(workload(genomes=10_000, nodes=8, links=160, samples=4096), RTX_3090)
    assert (plan.mapping, plan.defines["VECTOR"]) == ("samples", 4)


@pytest.mark.parametrize("limits", [RTX_3090, T4, H100])
def test_few_samples_go_by_levels(limits: DeviceLimits) -> None:
    for samples, genomes in itertools.product((1, 4), (1000, 100_000)):
        assert plan_forward(workload(genomes=genomes, samples=samples), limits).mapping == "levels"


def test_large_networks_on_one_sample_get_a_block_each() -> None:
    work = workload(genomes=100, nodes=5000, links=50_000, samples=1, levels=10)
    plan = plan_forward(work, RTX_3090)
    assert plan.defines == {"REAL": "float", "MEMORY": 0, "GLOBAL_VALUES": 0, "WIDE_TEAM": 1}


def test_several_small_genomes_share_a_block() -> None:
    plan = plan_forward(workload(100_000, nodes=3, links=6, samples=4, levels=2), RTX_3090)
    assert plan.mapping == "levels"
    assert plan.block[0] > plan.team_size


def test_values_that_fit_no_shared_memory_are_global() -> None:
    work = workload(genomes=4, nodes=200_000, links=400_000, samples=2, levels=50)
    for mapping in ("levels", "samples"):
        plan = plan_forward(work, T4, mapping)
        assert plan.defines["GLOBAL_VALUES"] == 1
        assert plan.scratch_nbytes > 0


@pytest.mark.parametrize("slots", range(99 * KIB // 4 - 60, 99 * KIB // 4 + 2))
def test_every_size_has_a_launch_of_each_mapping(slots: int) -> None:
    """Also a long chain, whose levels want no wide team, where shared memory is just full."""
    work = workload(genomes=3, nodes=slots - 8, links=slots, samples=1, levels=slots - 8)
    plans = candidate_plans(work, RTX_3090, "auto")
    assert {plan.mapping for plan in plans} == {"levels", "samples"}
    for plan in plans:
        assert plan.shared_mem + STATIC_SHARED <= RTX_3090.shared_per_block_optin
        check_memory(plan, work)


def test_workload_of_a_schedule() -> None:
    population = Population.random(6, 3, 2, num_nodes=9, num_connections=20)
    schedule = build_schedule(population)
    work = Workload.of(schedule, 1, 4, 7, False)
    nodes = np.diff(schedule.node_start)[1:4]
    assert (work.num_genomes, work.num_samples, work.shared_x) == (3, 7, False)
    assert work.num_nodes == nodes.sum()
    assert work.max_slots == schedule.num_slots[1:4].max() <= 3 + nodes.max()
    assert work.num_levels == schedule.num_levels[1:4].sum()
    widths = []
    for genome in range(1, 4):
        levels = schedule.level_end[schedule.level_start[genome] : schedule.level_start[genome + 1]]
        widths += np.diff(levels, prepend=0).tolist()
    assert work.max_level_width == max(widths)
    links = schedule.edge_start[schedule.node_start[[1, 4]]]
    assert work.num_edges == links[1] - links[0]


@given(strategies.populations(), st.integers(0, 3))
def test_workload_of_any_schedule(population: Population, num_samples: int) -> None:
    schedule = build_schedule(population, on_cycle="zero")
    work = Workload.of(schedule, 0, population.num_genomes, num_samples, True)
    assert (work.num_genomes, work.num_samples) == (population.num_genomes, num_samples)
    assert work.num_edges == schedule.num_edges
    assert work.max_level_width <= max(work.max_slots, 1)


def test_an_unknown_mapping_is_refused() -> None:
    with pytest.raises(OptionError, match='Did you mean "levels"'):
        plan_forward(workload(), RTX_3090, "level")  # type: ignore[arg-type]


def test_a_launch_that_cannot_be_counted_is_refused() -> None:
    with pytest.raises(DeviceError, match="in parts"):
        plan_forward(workload(genomes=2**30, samples=2**20), RTX_3090)


def test_blocks_of_a_multiprocessor_are_those_of_the_gpu_or_of_its_data_sheet() -> None:
    known = {"sm_70": 32, "sm_75": 16, "sm_86": 16, "sm_89": 24, "sm_90": 32, "sm_120": 24}
    for arch, blocks in {**known, "sm_999": 16}.items():
        card = dataclasses.replace(RTX_3090, arch=arch)
        assert card.max_blocks_per_sm == blocks
        assert dataclasses.replace(card, reported_blocks_per_sm=7).max_blocks_per_sm == 7
