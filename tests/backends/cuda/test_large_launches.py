"""Launches whose last blocks reach far: several warps per block, several turns, offsets past 2^31.

A launch of that size would take hours on the SIMT runner, so only its last blocks run. The arrays
are as large as on a GPU, but only the pages that these blocks touch ever exist.
"""

from __future__ import annotations

import dataclasses
import mmap
import random
from typing import Any

import numpy as np
import pytest

from evonet import Population
from evonet.backends.base import Episodes, Rollout
from evonet.backends.cpu import CpuBackend
from evonet.backends.cuda.arguments import forward_arguments, loss_arguments, rollout_arguments
from evonet.backends.cuda.cost import RolloutWorkload, Workload
from evonet.backends.cuda.layout import pack_schedule
from evonet.backends.cuda.limits import DeviceLimits
from evonet.backends.cuda.plan import LaunchPlan, plan_forward, plan_loss, plan_rollout
from evonet.backends.reference.loss import total_loss
from evonet.definitions.dynamics import Dynamics
from evonet.schedule import Schedule, build_schedule
from tests.support.cuda_runs import KIB, NOTHING, SMALL, TINY, compiled, run_plan, run_rollout
from tests.support.random_networks import random_genes, random_samples

DTYPES = (np.float32, np.float64)
KINDS = ("feedforward", "ctrnn", "izhikevich")
NORESERVE = 0x4000  # Linux: pages that nobody touches count for nothing


def assert_same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    kind = f"u{expected.itemsize}"
    np.testing.assert_array_equal(found.view(kind), expected.view(kind))


def schedule_of(count: int, kind: Any = "feedforward", dtype: Any = np.float32) -> Schedule:
    rng = random.Random("large")
    genes = [random_genes(rng, 3, 2, rng.randint(8, 24)) for _ in range(count)]
    return build_schedule(Population.from_genes(3, 2, genes, dtype), Dynamics.of(kind))


def untouched(*shape: int, dtype: Any) -> np.ndarray:
    """Zeros of any size, which take memory only where they are touched."""
    nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE
    return np.frombuffer(mmap.mmap(-1, nbytes, flags=flags), dtype).reshape(shape)


def launch(plan: LaunchPlan, arguments: tuple[Any, ...], last_blocks: int) -> None:
    kernel = compiled(plan.kernel, tuple(plan.defines.items())).get_function(plan.kernel)
    kernel.max_dynamic_shared_size_bytes = plan.shared_mem
    kernel(plan.grid, plan.block, arguments, shared_mem=plan.shared_mem, last_blocks=last_blocks)


# ---- several warps per block, in several turns --------------------------------------------------

# Room for what four warps stage in shared memory, and for no values.
FOUR_WARPS = DeviceLimits("sm_86", 1, 2048 + 64, 100 * KIB, 1536, 65536)
FOUR_WARPS_OF_EPISODES = DeviceLimits("sm_86", 1, 0, 4 * KIB, 1536, 65536, 8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_four_warps_share_a_block_with_their_values_in_global_memory(kind: Any, dtype: Any) -> None:
    schedule = schedule_of(24, kind, dtype)
    x = random_samples(random.Random("x"), (24, 300, 3), dtype)
    work = Workload.of(schedule, 0, 24, 300, False)
    plan = plan_forward(work, FOUR_WARPS, "samples")
    assert (plan.defines["GLOBAL_VALUES"], plan.block) == (1, (128,))
    assert 1 < plan.grid[0] * 4 < 24 * -(-300 // plan.tile)  # teams take turns
    expected = CpuBackend().bind(schedule, 1).forward(x)
    for order in ("forward", "random"):
        assert_same_bits(run_plan(schedule, x, plan, work, 0, 24, order=order), expected)
    run_plan(schedule, x, plan, work, 0, 24, mode="checked")


def test_four_warps_of_episodes_share_a_block_with_their_values_in_global_memory() -> None:
    schedule = build_schedule(Population.random(41, 4, 2, num_nodes=6, num_connections=14, seed=1))
    episodes = Episodes("cartpole", 31, 4, 1)
    work = RolloutWorkload.of(schedule, episodes, np.arange(41))
    plan = plan_rollout(work, FOUR_WARPS_OF_EPISODES)
    assert (plan.defines["GLOBAL_VALUES"], plan.block) == (1, (128,))
    assert plan.grid[0] * 128 < 41 * 31  # threads take turns
    for mode in ("plain", "checked"):  # which finds blocks that share memory or work
        found = run_rollout(schedule, episodes, range(41), limits=FOUR_WARPS_OF_EPISODES, mode=mode)
        assert_same_rollout(found, on_cpu(schedule, episodes, range(41)))


def on_cpu(schedule: Schedule, episodes: Episodes, genomes: Any) -> Rollout:
    return CpuBackend().bind(schedule, 1).rollout(episodes, np.asarray(genomes, np.int64))


def assert_same_rollout(found: Rollout, expected: Rollout) -> None:
    assert_same_bits(found.returns, expected.returns)
    np.testing.assert_array_equal(found.steps, expected.steps)


# ---- more episodes than threads -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["recurrent", "ctrnn", "izhikevich"])
@pytest.mark.parametrize("shared", [0, 99 * KIB], ids=["global", "shared"])
def test_memories_start_afresh_with_every_episode_of_a_thread(kind: Any, shared: int) -> None:
    population = Population.random(7, 4, 2, num_nodes=6, num_connections=18, seed=1)
    schedule = build_schedule(population, Dynamics.of(kind))
    episodes = Episodes("cartpole", 211, 9, 1)
    limits = DeviceLimits("sm_86", 1, shared, 100 * KIB, 64, 65536)
    plan = plan_rollout(RolloutWorkload.of(schedule, episodes, np.arange(7)), limits)
    assert plan.team_size * 3 < 211
    found = run_rollout(schedule, episodes, range(7), limits=limits)
    expected = on_cpu(schedule, episodes, range(7))
    assert_same_rollout(found, expected)


# ---- offsets past 2^31 --------------------------------------------------------------------------


@pytest.mark.parametrize("mapping", ["samples", "levels"])
@pytest.mark.parametrize("kind", ["feedforward", "ctrnn"])
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_samples_outputs_and_states_past_2_31(mapping: Any, kind: Any, own: bool) -> None:
    num_samples = (1 << 30) - 5
    schedule = schedule_of(3, kind)
    work = Workload.of(schedule, 0, 3, num_samples, not own)
    plan = plan_forward(work, SMALL, mapping)
    x = untouched(*((3,) if own else ()), num_samples, 3, dtype=np.float32)
    y = untouched(3, num_samples, 2, dtype=np.float32)
    rows = slice(num_samples - num_samples % plan.tile, num_samples)  # of the last tile
    assert min(y.size, x.size, 2 * num_samples) > 2**31 - 11
    given = random_samples(random.Random("x"), (rows.stop - rows.start, 3), np.float32)
    (x[2] if own else x)[rows] = given
    start: tuple[Any, ...] = ()
    state = np.empty(0)
    if kind != "feedforward":
        state = untouched(1, schedule.num_nodes, num_samples, dtype=np.float32)
        start = ((np.int64(state[0].size), np.intp(0), state),)
    arrays = pack_schedule(schedule, 0, 3)
    launch(plan, forward_arguments(plan, work, schedule, arrays, x, y, None, *start), 1)
    bound = CpuBackend().bind(schedule, 1)
    expected = bound.step(given) if kind != "feedforward" else bound.forward(given)
    assert_same_bits(y[2, rows], expected[2])
    if kind != "feedforward":
        remembered = bound.read_state()
        assert remembered is not None
        nodes = slice(int(schedule.node_start[2]), int(schedule.node_start[3]))
        assert_same_bits(state[0, nodes, rows].copy(), remembered[0, nodes])


@pytest.mark.parametrize("mapping", ["samples", "levels"])
def test_values_past_2_31(mapping: Any) -> None:
    num_genomes, team_values = 600, 1 << 22
    schedule = schedule_of(num_genomes)
    x = random_samples(random.Random("x"), (9, 3), np.float32)
    work = Workload.of(schedule, 0, num_genomes, 9, True)
    plan = plan_forward(work, TINY, mapping)
    assert plan.defines["GLOBAL_VALUES"]
    plan = dataclasses.replace(plan, grid=(num_genomes,), team_values=team_values)
    assert (num_genomes - 1) * team_values > 2**31
    y = np.zeros((num_genomes, 9, 2), np.float32)
    scratch = untouched(num_genomes * team_values, dtype=np.float32)
    tiles = -(-9 // plan.tile)
    arrays = pack_schedule(schedule, 0, num_genomes)
    launch(plan, forward_arguments(plan, work, schedule, arrays, x, y, scratch), 1)
    # The last block also had turns before its last one, if samples fill several tiles.
    last = num_genomes * tiles - 1 - (num_genomes * tiles - 1) % num_genomes + num_genomes - 1
    genome, tile = last // tiles, last % tiles * plan.tile
    expected = CpuBackend().bind(schedule, 1).forward(x)
    assert_same_bits(y[genome, tile : tile + plan.tile], expected[genome, tile : tile + plan.tile])


@pytest.mark.parametrize("dtype", DTYPES)
def test_losses_past_2_31(dtype: Any) -> None:
    shape = (1 << 26) + 3, 16, 3
    outputs = untouched(*shape, dtype=dtype)
    assert outputs.size > 2**31
    outputs[-1] = random_samples(random.Random("y"), shape[1:], dtype)
    targets = np.linspace(0, 1, 48, dtype=dtype).reshape(shape[1:])
    losses = untouched(shape[0], 2, dtype=dtype)
    work = dataclasses.replace(
        NOTHING, num_genomes=shape[0], num_samples=16, num_outputs=3, dtype=np.dtype(dtype)
    )
    plan = plan_loss(work, 0)
    launch(plan, loss_arguments(work, outputs, targets, losses), 1)
    assert_same_bits(losses[-1].copy(), np.array(total_loss(0, outputs[-1], targets)))


def test_episodes_past_2_31() -> None:
    population = Population.random(2, 4, 2, num_nodes=6, num_connections=14, seed=1)
    schedule = build_schedule(population)
    num_players, threads, count = 100, 1 << 23, 1 << 25
    episodes = Episodes("cartpole", count, 9, 1)
    work = RolloutWorkload.of(schedule, episodes, np.arange(2))
    plan = plan_rollout(work, SMALL)
    block = plan.block[0]
    plan = dataclasses.replace(plan, grid=(num_players * threads // block,), team_size=threads)
    assert (num_players - 1) * count > 2**31
    players = np.zeros(num_players, np.int32)
    players[-1] = 1
    found = Rollout(
        untouched(num_players, count, dtype=np.float32),
        untouched(num_players, count, dtype=np.int32),
    )
    arrays = pack_schedule(schedule, 0, 2)
    launch(plan, rollout_arguments(plan, episodes, schedule, arrays, players, *found, None), 1)
    for first in range(threads - block, count, threads):  # four episodes of every thread
        some = dataclasses.replace(episodes, count=block, first=first)
        expected = on_cpu(schedule, some, [1])
        rows = slice(first, first + block)
        assert_same_bits(found.returns[-1:, rows].copy(), expected.returns)
        np.testing.assert_array_equal(found.steps[-1:, rows], expected.steps)


def test_converted_samples_past_2_31() -> None:
    num_samples, num_inputs = (1 << 30) + 7, 3
    source = untouched(num_samples, num_inputs, dtype=np.uint8)
    samples = untouched(num_samples, num_inputs, dtype=np.float32)
    source[-90:] = (np.arange(270) % 251).astype(np.uint8).reshape(90, 3)
    defines = (("SOURCE", "unsigned char"), ("REAL", "float"))
    kernel = compiled("gather_samples", defines).get_function("gather_samples")
    numbers = map(np.int64, (0, num_inputs, 1, num_samples, num_inputs, source.size))
    kernel((-(-source.size // 256),), (256,), (source, *numbers, samples), last_blocks=1)
    rest = source.size % 256 or 256
    assert_same_bits(samples.reshape(-1)[-rest:], source.reshape(-1)[-rest:].astype(np.float32))
