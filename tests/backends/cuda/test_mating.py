"""Ranking and drawing parents on a GPU: the bits of the native engine and of the readable one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evonet
from evonet.backends.cuda.device import Device
from evonet.backends.cuda.discovery import usable_devices
from evonet.backends.cuda.genetics import mating
from evonet.backends.cuda.genetics.engine import CudaEngine
from evonet.backends.cuda.genetics.following import FollowingEngine
from evonet.backends.cuda.genetics.mating import DevicePositions
from evonet.backends.genetics import NativeEngine, make_engine
from evonet.backends.reference.genetics import ReferenceEngine
from evonet.genes.mating import Mating, MatingShares, on_host
from evonet.genes.rules import genome_rules
from tests.campaigns import genetics as campaign
from tests.campaigns.genetics import ORDERS
from tests.campaigns.genetics import settings as run_settings
from tests.cupy_stand_in import Machine
from tests.support.evolution_cases import make_config

Lend = Callable[..., Machine]
Scores = npt.NDArray[np.float64]
TINY, HUGE = 5e-324, float(np.finfo(np.float64).max)

SCORES: dict[str, Callable[[np.random.Generator, int], Scores]] = {
    "normal": lambda rng, count: rng.normal(size=count),
    "equal": lambda rng, count: np.full(count, -3.5),
    "zeros of both signs": lambda rng, count: rng.choice([0.0, -0.0], count),
    "around zero": lambda rng, count: rng.choice([0.0, -0.0, TINY, -TINY, 3 * TINY], count),
    "huge": lambda rng, count: rng.choice([HUGE, -HUGE, HUGE / 2, 0.0], count),
    "few values": lambda rng, count: rng.integers(-2, 3, count).astype(np.float64),
    "neighbours": lambda rng, count: rng.choice([1.0, np.nextafter(1.0, 2.0)], count),
    "all magnitudes": lambda rng, count: np.ldexp(
        rng.normal(size=count), rng.integers(-1073, 1020, count)
    ),
}
MANY = [1 + i % 7 for i in range(300)]
# Sizes of species, elites, parents and children of each.
SHARES: dict[str, tuple[list[int], list[int], list[int], list[int]]] = {
    "one genome": ([1], [1], [1], [0]),
    "one genome has one child": ([1], [0], [1], [1]),
    "one species": ([509], [2], [102], [507]),
    "a block and an elite": ([300], [1], [60], [256]),
    "nobody passes on": ([61, 40], [0, 0], [20, 9], [50, 51]),
    "everybody passes on": ([7, 1, 5], [7, 1, 5], [2, 1, 5], [0, 0, 0]),
    "species of one": ([1] * 37, [1, 0] * 18 + [1], [1] * 37, [2, 0, 0] * 12 + [1]),
    "childless in between": (
        [5, 3, 8, 2, 300],
        [1, 0, 0, 2, 3],
        [5, 1, 2, 2, 60],
        [0, 9, 0, 0, 290],
    ),
    "many": (
        [1 + i % 7 for i in range(300)],
        [0] * 300,
        [1 + i % 7 for i in range(300)],
        [3] * 300,
    ),
}


@pytest.fixture
def ranked_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few genomes there are, the GPU ranks them."""
    monkeypatch.setattr(mating, "LEAST_RANKED", 1)


def shares_of(
    rng: np.random.Generator, name: str, interspecies: float, outsiders: int = 3
) -> tuple[MatingShares, int]:
    """Shares of genomes at random positions, and how many genomes there are: some may not mate."""
    sizes, *amounts = (np.array(each, np.int64) for each in SHARES[name])
    total = int(sizes.sum()) + outsiders
    pieces = np.split(rng.permutation(total)[: sizes.sum()], np.cumsum(sizes)[:-1])
    members = np.concatenate([np.sort(piece) for piece in pieces])
    return MatingShares(members, np.cumsum([0, *sizes]), *amounts, interspecies), total


def as_lists(drawn: Mating) -> list[list[int]]:
    arrays = [on_host(each) for each in drawn]
    assert [each.dtype for each in arrays] == [np.int64] * 3
    return [each.tolist() for each in arrays]


def cuda_engine() -> CudaEngine:
    engine = make_engine("cuda", 1)
    assert isinstance(engine, CudaEngine)
    return engine


def assert_same(engine: CudaEngine, scores: Scores, shares: MatingShares, seed: int = 3) -> Mating:
    drawn = engine.mate(scores, shares, seed, 2**32 + 4)
    assert isinstance(drawn.fitter, DevicePositions)
    found = as_lists(drawn)
    assert found == as_lists(NativeEngine(1).mate(scores, shares, seed, 2**32 + 4))
    assert found == as_lists(ReferenceEngine().mate(scores, shares, seed, 2**32 + 4))
    assert found[2] == found[0][: len(found[2])]
    return drawn


@pytest.mark.usefixtures("ranked_there")
@pytest.mark.parametrize("interspecies", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("name", SHARES)
def test_parents_are_those_of_the_other_engines(
    name: str, interspecies: float, imaginary_gpus: Lend
) -> None:
    machine, rng = imaginary_gpus(), np.random.default_rng(5)
    for number, make in enumerate(SCORES.values()):
        machine.order = ORDERS[number % 3]
        shares, total = shares_of(rng, name, interspecies)
        assert_same(cuda_engine(), make(rng, total), shares, seed=2**63 + number)
    assert machine.launches["draw_parents"] == len(SCORES)


@pytest.mark.usefixtures("ranked_there")
@pytest.mark.parametrize("name", ["one genome has one child", "childless in between", "many"])
def test_kernels_that_are_watched_do_nothing_wrong(name: str, imaginary_gpus: Lend) -> None:
    imaginary_gpus().mode = "checked"
    rng = np.random.default_rng(1)
    shares, total = shares_of(rng, name, 0.5, outsiders=0)
    assert_same(cuda_engine(), rng.integers(0, 3, total).astype(np.float64), shares)


@pytest.mark.usefixtures("ranked_there")
def test_any_shares_give_the_same_parents(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    engine = cuda_engine()

    @settings(max_examples=25)
    @given(st.lists(st.integers(1, 40), min_size=1, max_size=9), st.integers(0, 2**64 - 1))
    def check(sizes: list[int], seed: int) -> None:
        rng = np.random.default_rng(seed)
        elites, parents = rng.integers(0, 1 + np.array(sizes)), rng.integers(1, 1 + np.array(sizes))
        children = rng.integers(0, 30, len(sizes)) + (elites.sum() == 0)
        total = sum(sizes)
        pieces = np.split(rng.permutation(total), np.cumsum(sizes)[:-1])
        members = np.concatenate([np.sort(piece) for piece in pieces])
        starts = np.cumsum([0, *sizes])
        shares = MatingShares(members, starts, elites, parents, children, rng.random())
        assert_same(engine, rng.integers(-2, 3, total).astype(np.float64), shares, seed)

    check()


def test_few_genomes_are_ranked_on_the_host(imaginary_gpus: Lend) -> None:
    machine, rng = imaginary_gpus(), np.random.default_rng(0)
    for count, there in ((mating.LEAST_RANKED - 1, False), (mating.LEAST_RANKED, True)):
        one = np.array([count])
        shares = MatingShares(np.arange(count), np.array([0, count]), one * 0, one, one, 0.0)
        drawn = cuda_engine().mate(rng.normal(size=count), shares, 1, 1)
        assert isinstance(drawn.fitter, DevicePositions) == there
    assert machine.launches["draw_parents"] == 1


@pytest.mark.usefixtures("ranked_there")
def test_only_elites_come_to_the_host(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, rng = imaginary_gpus(), np.random.default_rng(0)
    sizes: list[int] = []
    download = Device.download

    def counting(self: Device, array: Any, out: np.ndarray) -> None:
        sizes.append(out.nbytes)
        download(self, array, out)

    monkeypatch.setattr(Device, "download", counting)
    shares, total = shares_of(rng, "childless in between", 0.1)
    engine = cuda_engine()
    engine.mate(rng.normal(size=total), shares, 1, 1)  # makes the page-locked ring
    sizes.clear()
    sent = machine.num_sent
    engine.mate(rng.normal(size=total), shares, 1, 1)
    assert sizes == [8 * 6]
    tables = 4 * 5 + 3
    assert machine.num_sent - sent == 8 * (total + len(shares.members) + tables + 6)


@pytest.mark.usefixtures("ranked_there")
def test_a_read_only_or_strided_array_of_scores_serves(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    rng = np.random.default_rng(2)
    shares, total = shares_of(rng, "many", 0.1)
    scores = np.repeat(rng.normal(size=total), 2)[::2]
    scores.setflags(write=False)
    drawn = cuda_engine().mate(scores, shares, 3, 4)
    assert as_lists(drawn) == as_lists(NativeEngine(1).mate(scores.copy(), shares, 3, 4))


# ---- streams and memory -------------------------------------------------------------------------


def families(total: int) -> tuple[Any, ...]:
    """Parents, and what else an engine breeds from."""
    parents = evonet.Population.random(total, 2, 1, num_nodes=3, num_connections=4, seed=1)
    return parents, (genome_rules(make_config()), 3, 4, 50, 60)


@pytest.mark.usefixtures("ranked_there")
def test_another_stream_may_breed_from_the_parents(imaginary_gpus: Lend) -> None:
    imaginary_gpus(pace="late")
    (device,) = usable_devices()
    shares, total = shares_of(np.random.default_rng(2), "childless in between", 0.1)
    scores = np.random.default_rng(3).normal(size=total)
    parents, rest = families(total)
    engine, native = cuda_engine(), NativeEngine(1)
    engine.breed(parents, *engine.mate(scores, shares, 3, 4)[:2], *rest)  # loads kernels
    with device.aside():
        drawn = engine.mate(scores, shares, 3, 4)
    children = engine.breed(parents, *drawn[:2], *rest)[0]
    with device.aside():
        again = engine.breed(parents, *engine.mate(scores, shares, 3, 4)[:2], *rest)[0]
    del drawn  # their memory is the second stream's to use again
    device.finish()
    with device.aside():
        device.finish()
    expected = native.breed(parents, *native.mate(scores, shares, 3, 4)[:2], *rest)[0]
    assert children == expected
    assert again == expected


@pytest.mark.usefixtures("ranked_there")
@pytest.mark.parametrize("pace", ["late", "early", "random"])
def test_a_second_stream_breeds_while_the_parents_are_there(
    pace: str, imaginary_gpus: Lend
) -> None:
    imaginary_gpus(pace=pace)
    (device,) = usable_devices()
    shares, total = shares_of(np.random.default_rng(2), "one species", 0.0)
    scores = np.random.default_rng(3).normal(size=total)
    parents, rest = families(total)
    engine, native = cuda_engine(), NativeEngine(1)
    engine.breed(parents, *engine.mate(scores, shares, 3, 4)[:2], *rest)
    drawn = engine.mate(scores, shares, 3, 4)
    with device.aside():
        children = engine.breed(parents, *drawn[:2], *rest)[0]
    del drawn
    device.finish()
    assert children == native.breed(parents, *native.mate(scores, shares, 3, 4)[:2], *rest)[0]


@pytest.mark.usefixtures("ranked_there")
def test_every_allocation_may_fail(imaginary_gpus: Lend) -> None:
    machine, rng = imaginary_gpus(), np.random.default_rng(0)
    shares, total = shares_of(rng, "childless in between", 0.1)
    scores, engine = rng.integers(0, 5, total).astype(np.float64), cuda_engine()
    expected = as_lists(NativeEngine(1).mate(scores, shares, 3, 4))
    engine.mate(scores, shares, 3, 4)
    start = machine.num_allocations
    engine.mate(scores, shares, 3, 4)
    count = machine.num_allocations - start
    assert count == 17  # 3 uploads, 2 keys, twice 3 of a sort, 3 of ranks, elites, 2 of parents
    for number in range(1, count + 1):
        machine.fail_at = {machine.num_allocations + number}
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a second attempt, with a pool that was freed, works
            drawn = engine.mate(scores, shares, 3, 4)
        assert isinstance(drawn.fitter, DevicePositions)
        assert as_lists(drawn) == expected
    machine.fail_at = set()
    machine.fail_from = machine.num_allocations + 1
    with pytest.warns(RuntimeWarning, match="on the host, with equal results"):
        drawn = engine.mate(scores, shares, 3, 4)
    assert isinstance(drawn.fitter, np.ndarray)
    assert as_lists(drawn) == expected


@pytest.mark.usefixtures("ranked_there")
def test_parents_come_to_the_host_if_it_has_to_breed(imaginary_gpus: Lend) -> None:
    machine, rng = imaginary_gpus(), np.random.default_rng(0)
    shares, total = shares_of(rng, "one species", 0.1)
    parents, rest = families(total)
    scores, engine, native = rng.normal(size=total), cuda_engine(), NativeEngine(1)
    drawn = engine.mate(scores, shares, 3, 4)
    machine.fail_from = machine.num_allocations + 1
    with pytest.warns(RuntimeWarning, match="on the host, with equal results"):
        children = engine.breed(parents, *drawn[:2], *rest)
    assert children[0].distant is None
    assert children == native.breed(parents, *native.mate(scores, shares, 3, 4)[:2], *rest)
    reference = ReferenceEngine().breed(parents, *drawn[:2], *rest)
    assert children == reference


@pytest.mark.usefixtures("ranked_there")
def test_parents_of_one_gpu_serve_another(imaginary_gpus: Lend) -> None:
    imaginary_gpus(num_devices=2)
    first, second = usable_devices()
    shares, total = shares_of(np.random.default_rng(2), "many", 0.1)
    drawn = mating.mate(first, np.random.default_rng(3).normal(size=total), shares, 3, 4)
    assert isinstance(drawn.fitter, DevicePositions)
    assert DevicePositions.bring(drawn.fitter, first) is drawn.fitter
    there = DevicePositions.bring(drawn.fitter, second)
    assert second.holds(there.array)
    np.testing.assert_array_equal(there.fetch(), drawn.fitter.fetch())


def test_a_sort_keeps_the_order_of_equal_keys(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    (device,) = usable_devices()
    keys = np.array([2**64 - 1, 0, 2**63, 0, 2**63, 2**63 - 1], np.uint64)
    order = np.empty(6, np.int64)
    device.download(device.argsort(device.upload(keys)), order)
    assert order.tolist() == [1, 3, 5, 2, 4, 0]


# ---- algorithms ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("ranked_there")
def test_runs_leave_the_files_of_the_processor(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    lines = [*campaign.campaign_of_runs(machine, 1, [1, 17], 5)]
    assert len(lines) == 3
    assert all(line.endswith(": equal") for line in lines), lines
    assert machine.launches["draw_parents"] > 8


@pytest.mark.usefixtures("ranked_there")
def test_a_generation_may_run_out_of_memory_anywhere(
    imaginary_gpus: Lend,
) -> None:
    machine = imaginary_gpus()
    cpu, *others = (
        evonet.NEAT(run_settings(6), seed=1, num_inputs=2, num_outputs=1, backend=backend)
        for backend in ["cpu"] + ["cuda"] * 20
    )
    cpu.tell(np.arange(6.0))
    for number, neat in enumerate(others):
        neat.tell(np.arange(6.0))
        machine.fail_from = machine.num_allocations + 1 + 4 * number
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            assert neat.ask() == cpu.ask()
        machine.fail_from = None
        assert neat.state.ids.tolist() == cpu.state.ids.tolist()
        assert [s.members.tolist() for s in neat.species] == [
            s.members.tolist() for s in cpu.species
        ]


@pytest.mark.usefixtures("ranked_there")
@pytest.mark.parametrize("backend", ["cpu", "cuda", "reference"])
def test_an_algorithm_may_copy_and_pair_as_it_likes(backend: str, imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    neat = evonet.NEAT(run_settings(6), num_inputs=2, num_outputs=1, backend=backend)
    fitter, other = np.array([1, 4, 0, 3, 3, 5]), np.array([-1, -1, 2, 3, 1, 0])
    for copies in (None, np.array([1, 4])):
        made = neat.breed(neat.state, fitter, other, copies)
        assert made["ids"].tolist() == [2, 5, 7, 8, 9, 10]
        assert made["ids"].dtype == np.int64
        assert made["next_id"] == 11
        assert made["population"][1] == neat.state.population[4]


@pytest.mark.usefixtures("ranked_there")
def test_parents_are_ranked_where_breeding_went(imaginary_gpus: Lend) -> None:
    machine, rng = imaginary_gpus(), np.random.default_rng(0)
    shares, total = shares_of(rng, "one species", 0.1)
    scores = rng.normal(size=total)
    engine = make_engine("auto", 1)
    assert isinstance(engine, FollowingEngine)
    here = engine.mate(scores, shares, 3, 4)
    assert isinstance(here.fitter, np.ndarray)
    parents, rest = families(total)
    engine.breed(parents, *here[:2], *rest)
    engine._seconds = {"breed": 0.0, "speciate": 0.0, "mate": 9.0}
    engine.follow("cuda", parents)
    assert engine.is_there  # for the sake of ranking
    there = engine.mate(scores, shares, 3, 4)
    assert isinstance(there.fitter, DevicePositions)
    assert as_lists(there) == as_lists(here)
    assert machine.launches["draw_parents"] == 1
