"""Rollouts on GPUs: the kernel on the SIMT runner and the backend over imaginary GPUs."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evonet
from evonet import DeviceMemoryError, Population
from evonet.backends.base import Episodes, Rollout
from evonet.backends.cpu import CpuBackend
from evonet.backends.cuda import backend as cuda_backend
from evonet.backends.cuda.cost import RolloutWorkload
from evonet.backends.cuda.device import Device
from evonet.backends.cuda.limits import DeviceLimits
from evonet.backends.cuda.packed import HostGenomes
from evonet.backends.cuda.plan import (
    MOST_THREADS,
    most_genomes,
    option_sets,
    plan_rollout,
)
from evonet.definitions.controls import CONTROLS
from evonet.installation import resource_folder
from evonet.schedule import Schedule, build_schedule
from evonet.tasks import make_task
from tests.backends.test_rollout import assert_same, each_control, each_dtype, network, population
from tests.cupy_stand_in import Machine
from tests.support.cuda_runs import SMALL, TINY, run_rollout

Lend = Callable[..., Machine]
NOTHING_SHARED = DeviceLimits("sm_86", 1, 0, 4096, 64, 65536)


def compiled(name: str, kind: str, count: int, dtype: Any = np.float32) -> Schedule:
    return build_schedule(population(name, kind, count, dtype), on_cycle="zero")


def on_cpu(schedule: Schedule, episodes: Episodes, genomes: Any) -> Rollout:
    return CpuBackend().bind(schedule, 1).rollout(episodes, np.asarray(genomes, np.int64))


# ---- the kernel ---------------------------------------------------------------------------------


@each_control
@each_dtype
@pytest.mark.parametrize("limits", [SMALL, NOTHING_SHARED], ids=["shared", "global"])
def test_every_task_has_the_bits_of_the_cpu(name: str, dtype: Any, limits: DeviceLimits) -> None:
    schedule = compiled(name, "mixed", 11, dtype)
    for count, max_steps in ((3, 23), (1, 1), (37, 9)):
        episodes = Episodes(name, count, max_steps, 2**40 + 7, first=5)
        found = run_rollout(schedule, episodes, range(11), limits=limits)
        assert_same(found, on_cpu(schedule, episodes, range(11)))


@pytest.mark.parametrize("count", [1, 2, 5, 31, 32, 33, 67, 211])
@pytest.mark.parametrize("limits", [SMALL, TINY, NOTHING_SHARED], ids=["small", "tiny", "none"])
def test_any_number_of_episodes(count: int, limits: DeviceLimits) -> None:
    schedule = compiled("cartpole", "sums", 101)
    episodes = Episodes("cartpole", count, 30, 1)
    expected = on_cpu(schedule, episodes, range(101))
    assert 1 < expected.steps.min() < expected.steps.max()
    assert_same(run_rollout(schedule, episodes, range(101), limits=limits), expected)


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
@pytest.mark.parametrize("limits", [SMALL, NOTHING_SHARED], ids=["shared", "global"])
def test_bits_do_not_depend_on_the_order_of_threads(order: Any, limits: DeviceLimits) -> None:
    schedule = compiled("acrobot", "mixed", 13)
    episodes = Episodes("acrobot", 7, 25, 3)
    found = run_rollout(schedule, episodes, range(13), limits=limits, order=order, seed=5)
    assert_same(found, on_cpu(schedule, episodes, range(13)))


@each_control
@each_dtype
@pytest.mark.parametrize("limits", [SMALL, NOTHING_SHARED], ids=["shared", "global"])
def test_checked_mode_finds_nothing(name: str, dtype: Any, limits: DeviceLimits) -> None:
    schedule = compiled(name, "mixed", 7, dtype)
    for count in (2, 33):
        episodes = Episodes(name, count, 3, 9)
        found = run_rollout(
            schedule, episodes, range(7), limits=limits, mode="checked", order="random"
        )
        assert_same(found, on_cpu(schedule, episodes, range(7)))


def test_genomes_play_in_the_order_asked_for() -> None:
    schedule = compiled("pendulum", "mixed", 53)
    episodes = Episodes("pendulum", 3, 20, 2)
    for genomes in ([52], [52, 13, 13, 10, 17], [12] * 70):
        found = run_rollout(schedule, episodes, genomes, begin=10)
        assert_same(found, on_cpu(schedule, episodes, genomes))


@pytest.mark.parametrize("limits", [SMALL, TINY], ids=["shared", "global"])
def test_a_large_genome_plays_beside_small_ones(limits: DeviceLimits) -> None:
    large = Population.random(2, 4, 2, num_nodes=400, num_connections=2500, seed=1)
    small = Population.random(3, 4, 2, num_nodes=3, num_connections=9, seed=1)
    schedule = build_schedule(evonet.Population.concatenate([small, large]))
    episodes = Episodes("cartpole", 3, 6, 0)
    found = run_rollout(schedule, episodes, range(5), limits=limits)
    assert_same(found, on_cpu(schedule, episodes, range(5)))


def test_episode_numbers_do_not_overflow() -> None:
    schedule = compiled("pendulum", "sums", 2)
    episodes = Episodes("pendulum", 40, 2, 2**64 - 1, first=2**31 - 1)
    assert_same(run_rollout(schedule, episodes, [1]), on_cpu(schedule, episodes, [1]))


# ---- the plan -----------------------------------------------------------------------------------


@given(
    st.builds(
        RolloutWorkload,
        control=st.sampled_from([control.name for control in CONTROLS]),
        num_genomes=st.integers(1, 10**6),
        num_episodes=st.integers(1, 10**5) | st.integers(1, 40),
        max_slots=st.integers(1, 10**5) | st.integers(1, 100),
        dtype=st.sampled_from([np.dtype(np.float32), np.dtype(np.float64)]),
    ),
    st.sampled_from([SMALL, TINY, NOTHING_SHARED]),
)
def test_every_plan_is_a_legal_launch(players: RolloutWorkload, limits: DeviceLimits) -> None:
    plan = plan_rollout(players, limits)
    (block,), (grid,) = plan.block, plan.grid
    assert (plan.kernel, dict(plan.defines)) in option_sets()
    assert block in (32, 64, 128)
    assert plan.shared_mem <= limits.shared_per_block_optin
    num_threads = players.num_genomes * plan.team_size
    assert num_threads < MOST_THREADS
    values = players.max_slots * players.dtype.itemsize
    if plan.defines["GLOBAL_VALUES"]:
        assert plan.scratch_nbytes == grid * block * values
    else:
        assert plan.shared_mem == block * values
        assert grid * block >= num_threads
    assert 1 <= grid <= math.ceil(num_threads / block)
    if players.num_episodes < 32:
        assert plan.team_size == players.num_episodes
    else:
        assert plan.team_size % 32 == 0
        assert plan.team_size < players.num_episodes + 32


def test_many_genomes_with_many_episodes_get_a_warp_each() -> None:
    few = RolloutWorkload("cartpole", 2, 1000, 20, np.dtype(np.float32))
    many = RolloutWorkload("cartpole", 10_000, 1000, 20, np.dtype(np.float32))
    assert plan_rollout(few, SMALL).team_size == 1024
    assert plan_rollout(many, SMALL).team_size == 32


def test_values_are_shared_as_long_as_enough_warps_fit() -> None:
    def in_global(num_genomes: int, max_slots: int, dtype: Any) -> object:
        players = RolloutWorkload("cartpole", num_genomes, 5, max_slots, np.dtype(dtype))
        return plan_rollout(players, SMALL).defines["GLOBAL_VALUES"]

    assert [in_global(10_000, slots, np.float32) for slots in (100, 150, 10_000)] == [0, 1, 1]
    assert [in_global(10_000, slots, np.float64) for slots in (90, 150, 10_000)] == [0, 1, 1]
    assert [in_global(5, slots, np.float32) for slots in (150, 700, 900)] == [0, 0, 1]  # one warp


def test_a_launch_counts_its_threads_in_32_bits() -> None:
    for count in (1, 5, 32, 10**6):
        most = most_genomes(Episodes("cartpole", count, 1, 0))
        players = RolloutWorkload("cartpole", most, count, 6, np.dtype(np.float32))
        assert most * plan_rollout(players, SMALL).team_size <= MOST_THREADS


# ---- the backend --------------------------------------------------------------------------------


@each_control
@each_dtype
def test_the_gpu_has_the_bits_of_the_processor(name: str, dtype: Any, imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    gpu, cpu = (network(name, "mixed", 11, dtype, backend=b) for b in ("cuda", "cpu"))
    for options in (
        {"episodes": 3, "max_steps": 20},
        {"episodes": 1, "genomes": [10, 3, 3, 0], "max_steps": 9, "first_episode": 4},
        {"episodes": 41, "max_steps": 4, "seed": 2**63},
    ):
        assert_same(gpu.rollout(name, **options), cpu.rollout(name, **options))
    assert machine.launches["rollout"] == 3


def test_no_genomes_need_no_launch(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    gpu = network("cartpole", "sums", 5, backend="cuda")
    assert gpu.rollout("cartpole", episodes=4, genomes=[]).returns.shape == (0, 4)
    empty = evonet.compile(population("cartpole", "sums", 5)[:0], backend="cuda")
    assert empty.rollout("cartpole", episodes=4).steps.shape == (0, 4)
    assert machine.launches["rollout"] == 0


@pytest.mark.parametrize("mapping", ["auto", "levels"])
def test_calls_and_rollouts_share_one_upload(mapping: Any, imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    gpu = network("cartpole", "sums", 40, backend="cuda", mapping=mapping)
    gpu(np.zeros((1, 4), np.float32))
    for genomes in (None, [3, 7]):
        before = machine.num_allocations
        gpu.rollout("cartpole", genomes=genomes, max_steps=5)
        assert machine.num_allocations == before + 3  # players, returns, steps
    gpu(np.zeros((1, 4), np.float32))
    assert machine.num_allocations == before + 3 + 2


def test_evolution_of_a_control_task_is_that_of_the_processor(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    config = evonet.Config.load(resource_folder("configs") / "cartpole.toml")
    runs = []
    for backend in ("cpu", "cuda"):
        result = evonet.evolve(
            make_task("cartpole", episodes=3, max_steps=60, retests=7, solved=55.0),
            config,
            generations=3,
            seed=2,
            backend=backend,
        )
        runs.append((result.algorithm.state.fitness.tobytes(), result.algorithm.state.population))
    assert runs[0] == runs[1]
    assert machine.launches["rollout"] >= 2


# ---- memory -------------------------------------------------------------------------------------


def players(backend: str) -> evonet.Network:
    return network("acrobot", "mixed", 30, backend=backend)


def play(who: evonet.Network, **options: Any) -> Rollout:
    chosen = {"episodes": 3, "max_steps": 12, "genomes": [*range(30), 4, 4], **options}
    return who.rollout("acrobot", **chosen)


def test_one_failed_allocation_anywhere_changes_nothing(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    expected = play(players("cpu"))
    gpu = players("cuda")
    begin = machine.num_allocations
    play(gpu)
    num_allocations = machine.num_allocations - begin
    assert num_allocations >= 9
    for n in range(1, num_allocations + 1):
        gpu = players("cuda")
        machine.fail_at = {machine.num_allocations + n}
        assert_same(play(gpu), expected)
        assert machine.num_allocations > max(machine.fail_at)


def test_memory_that_runs_out_for_good_is_an_error_and_nothing_leaks(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    gpu = players("cuda")
    for n in range(1, 12):
        machine.fail_from = machine.num_allocations + n
        with pytest.raises(DeviceMemoryError, match="play fewer at a time") as caught:
            play(gpu)
        del caught
        gc.collect()
        assert machine.used == [0]
        machine.fail_from = None
    assert_same(play(gpu), play(players("cpu")))


def test_a_population_larger_than_the_memory_plays_in_pieces(imaginary_gpus: Lend) -> None:
    roomy = imaginary_gpus()
    play(players("cuda"), episodes=50)
    machine = imaginary_gpus(memory=roomy.peak[0] // 4)
    gpu, expected = players("cuda"), play(players("cpu"), episodes=50)
    for _ in range(2):
        before = machine.launches["rollout"]
        assert_same(play(gpu, episodes=50), expected)
        assert machine.launches["rollout"] - before >= 4
    assert machine.peak[0] <= machine.memory


def test_a_piece_that_failed_once_is_not_tried_again(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    gpu = players("cuda")
    machine.fail_at = {machine.num_allocations + 3}
    launches = []
    for episodes in (3, 3, 2):  # fewer may fit
        before = machine.launches["rollout"]
        play(gpu, episodes=episodes, genomes=None)
        launches.append(machine.launches["rollout"] - before)
    assert launches == [2, 2, 1]


def test_no_more_is_packed_than_should_fit(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus(memory=20_000)
    gpu, packed, honest = players("cuda"), [], HostGenomes.send

    def watch(self: HostGenomes, device: Device, begin: int, end: int) -> Any:
        packed.append(end - begin)
        return honest(self, device, begin, end)

    monkeypatch.setattr(HostGenomes, "send", watch)
    found = play(gpu, episodes=300, genomes=None)
    assert_same(found, play(players("cpu"), episodes=300, genomes=None))
    assert max(packed) <= 20_000 // (300 * (4 + 4))


def test_genomes_that_exceed_shared_memory_play_too(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    wide = Population.random(2, 4, 2, num_nodes=30_000, num_connections=40_000, seed=1)
    found = [
        evonet.compile(wide, backend=b).rollout("cartpole", episodes=2, max_steps=2)
        for b in ("cuda", "cpu")
    ]
    assert_same(*found)


# ---- several GPUs -------------------------------------------------------------------------------


@pytest.mark.parametrize("genomes", [None, [29, 0, 15, 15], [2, 1]])
def test_several_gpus_share_the_players(
    genomes: Any, imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_backend, "LEAST_WORK", 50)
    machine = imaginary_gpus(num_devices=2)
    found, expected = (play(players(b), genomes=genomes) for b in ("cuda", "cpu"))
    assert_same(found, expected)
    used = {device for name, device in machine.log if name == "rollout"}
    assert used == ({0} if genomes == [2, 1] else {0, 1})


def test_each_of_several_gpus_may_run_out_of_memory(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_backend, "LEAST_WORK", 50)
    machine = imaginary_gpus(num_devices=2)
    expected = play(players("cpu"))
    gpu = players("cuda")
    begin = machine.num_allocations
    play(gpu)
    for n in range(1, machine.num_allocations - begin + 1):
        gpu = players("cuda")
        machine.fail_at = {machine.num_allocations + n}
        assert_same(play(gpu), expected)
