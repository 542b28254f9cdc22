"""The backend "auto": whichever side takes less time, with the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evonet
from evonet import Population
from evonet.backends.cuda.cost import Workload
from evonet.backends.cuda.discovery import usable_devices
from evonet.backends.cuda.genetics import following
from evonet.backends.cuda.genetics.cost import GenesWorkload
from evonet.backends.cuda.layout import packed_nbytes
from evonet.backends.cuda.limits import DeviceLimits
from evonet.backends.cuda.pricing import packed_size, price_evaluation, price_scoring
from evonet.definitions.dynamics import FEEDFORWARD
from evonet.evaluators import choice
from evonet.evaluators.choice import BackendChoice
from evonet.evaluators.here import Here
from evonet.schedule import build_schedule
from evonet.tasks import Control, Supervised, xor
from tests.cupy_stand_in import Machine
from tests.support.evolution_cases import make_config

Lend = Callable[..., Machine]
LIMITS = DeviceLimits("sm_86", 82, 99 << 10, 100 << 10, 1536, 65536)


def population(count: int = 20, links: int = 8) -> Population:
    return Population.random(count, 2, 1, num_nodes=4, num_connections=links)


def priced(monkeypatch: pytest.MonkeyPatch, cpu: float, gpu: float) -> BackendChoice:
    """A choice between sides of which one is measured and the other modelled to cost so much."""
    monkeypatch.setattr(BackendChoice, "_time_here", lambda self, network: cpu)
    monkeypatch.setattr(BackendChoice, "_price_there", lambda self, network, scale: gpu * scale)
    return BackendChoice(4, FEEDFORWARD, 1)


def test_without_a_gpu_nothing_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVONET_BACKEND", "cpu")
    assert BackendChoice(4, FEEDFORWARD, 1).pick(population()) == "auto"


@pytest.mark.parametrize(("cpu", "gpu", "wanted"), [(1.0, 2.0, "cpu"), (2.0, 1.0, "cuda")])
def test_the_cheaper_side_is_picked(
    cpu: float, gpu: float, wanted: str, imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus()
    chooser = priced(monkeypatch, cpu, gpu)
    for _ in range(4):
        assert chooser.pick(population()) == wanted


def test_the_processor_is_timed_with_some_genomes_for_all(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus()
    chooser = priced(monkeypatch, 3.0, 1.0)
    chooser.pick(population(choice.PILOT_GENOMES * 10))
    assert chooser.cpu_seconds == pytest.approx(30.0)


def test_a_gpu_that_is_slower_than_modelled_is_left(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus()
    chooser = priced(monkeypatch, 2.0, 1.0)
    picked = []
    for seconds in (60.0, 5.0, 0.1, 0.1):  # the first generation compiles kernels
        picked.append(chooser.pick(population()))
        chooser.note(seconds)
        if len(picked) == 1:
            assert chooser.gpu_seconds == 1.0  # still the model's
    assert picked == ["cuda", "cuda", "cpu", "cpu"]


def test_a_small_difference_changes_nothing(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus()
    chooser = priced(monkeypatch, 2.0, 1.0)
    for _ in range(4):
        assert chooser.pick(population()) == "cuda"
        chooser.note(2.1)


def test_genomes_that_grow_are_weighed_again(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus()
    chooser = priced(monkeypatch, 1.0, 2.0)
    assert chooser.pick(population()) == "cpu"
    monkeypatch.setattr(BackendChoice, "_time_here", lambda self, network: 9.0)
    assert chooser.pick(population(links=9)) == "cpu"
    assert chooser.pick(population(60)) == "cuda"


def test_prices_are_those_of_the_first_gpu_and_this_processor(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    chooser = BackendChoice(4, FEEDFORWARD, 1)
    assert chooser.pick(population(3)) in ("cpu", "cuda")
    assert chooser.cpu_seconds is not None
    assert chooser.cpu_seconds > 0
    schedule = build_schedule(population(3))
    work = Workload.of(schedule, 0, 3, 4, True)
    limits = usable_devices()[0].limits
    genes = GenesWorkload(3, population(3).num_nodes, population(3).num_connections, 4)
    there = price_scoring(genes, work, limits)
    packed = price_evaluation(work, limits).total
    assert chooser.gpu_seconds is not None
    assert packed < chooser.gpu_seconds <= there or chooser.gpu_seconds == pytest.approx(there)


@pytest.mark.parametrize("prices", [(1.0, 2.0), (2.0, 1.0)], ids=["cpu", "cuda"])
def test_runs_have_the_same_bits_on_either_side(
    prices: tuple[float, float], imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = imaginary_gpus()
    priced(monkeypatch, *prices)
    rng = np.random.default_rng(1)
    task = Supervised(rng.normal(size=(6, 2)), rng.normal(size=(6, 1)))
    ids = np.arange(20)
    found, expected = (
        Here(task, FEEDFORWARD, backend=backend).evaluate(population(), ids, 1, 0).fitness
        for backend in ("auto", "cpu")
    )
    assert found.tobytes() == expected.tobytes()
    assert (machine.launches["loss"] > 0) == (prices[1] < prices[0])


def test_a_backend_that_was_asked_for_is_used(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = imaginary_gpus()
    priced(monkeypatch, 1.0, 2.0)
    Here(xor(), FEEDFORWARD, backend="cuda").evaluate(population(), np.arange(20), 1, 0)
    assert machine.launches["loss"] == 1
    monkeypatch.setenv("EVONET_BACKEND", "cuda")
    Here(xor(), FEEDFORWARD, backend="auto").evaluate(population(), np.arange(20), 1, 0)
    assert machine.launches["loss"] == 2


def test_tasks_without_examples_are_not_priced(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = imaginary_gpus()
    priced(monkeypatch, 1.0, 2.0)
    genomes = Population.random(3, 4, 2, num_nodes=3, num_connections=6)
    task = Control("cartpole", episodes=1, max_steps=3)
    Here(task, FEEDFORWARD, backend="auto").evaluate(genomes, np.arange(3), 1, 0)
    assert machine.launches["rollout"] == 1


def evolved(monkeypatch: pytest.MonkeyPatch, generations: int, backend: str) -> list[bytes]:
    """Fitness, generation by generation; with the backend "auto" the GPU costs 1 s, then 3."""
    config = make_config({"neat.pop_size": 40, "neat.no_fitness_termination": True})
    seconds = iter([2.0] * 3 + [0.5] * generations)
    if backend == "auto":
        monkeypatch.setattr(BackendChoice, "_time_here", lambda self, network: next(seconds))
        monkeypatch.setattr(BackendChoice, "_price_there", lambda self, network, scale: 1.0)
        monkeypatch.setattr(choice, "GROWTH", 0.5)  # they are weighed every time
    found: list[bytes] = []
    evonet.evolve(
        xor(),
        config,
        generations=generations,
        seed=1,
        backend=backend,
        callbacks=[lambda record: found.append(repr((record.best, record.mean)).encode())],
    )
    return found


@pytest.mark.parametrize("is_cheaper", [True, False])
def test_breeding_follows_the_networks_if_it_is_cheaper_there(
    is_cheaper: bool, imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = imaginary_gpus()
    price = 0.0 if is_cheaper else 9.0
    monkeypatch.setattr(following, "price_breeding", lambda work, limits: price)
    found = evolved(monkeypatch, 7, "auto")
    # Three generations are scored on the GPU. The second is the first that was bred, on the host,
    # so that the third and the fourth are bred on the GPU; then breeding follows back.
    assert machine.launches["loss"] == 3
    assert machine.launches["breed_children"] == (2 if is_cheaper else 0)
    assert found == evolved(monkeypatch, 7, "cpu")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_size_of_packed_genomes_is_about_right(dtype: Any) -> None:
    genomes = Population.random(200, 8, 4, num_nodes=30, num_connections=150, dtype=dtype)
    schedule = build_schedule(genomes)
    size = packed_size(Workload.of(schedule, 0, 200, 4, True))
    assert size == pytest.approx(packed_nbytes(schedule, 0, 200), rel=0.1)


def test_a_price_grows_with_every_kind_of_work() -> None:
    def price(count: int, links: int, samples: int) -> Any:
        genomes = evonet.Population.random(count, 8, 4, num_nodes=40, num_connections=links)
        schedule = build_schedule(genomes)
        return price_evaluation(Workload.of(schedule, 0, count, samples, True), LIMITS)

    small, many, large, long = (
        price(*shape) for shape in ((100, 50, 64), (400, 50, 64), (100, 200, 64), (100, 50, 65536))
    )
    assert many.pack > small.pack
    assert many.download > small.download
    assert large.upload > small.upload
    assert long.kernel > small.kernel
    for each in (small, many, large, long):
        assert each.total >= max(each.pack, each.upload) + each.kernel + each.call
