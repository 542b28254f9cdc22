"""The model of a generation that stays on a GPU: its launches are those that are made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

import evonet
from evonet.backends.cuda.cards import CARDS
from evonet.backends.cuda.cost import Workload
from evonet.backends.cuda.device import Device
from evonet.backends.cuda.genetics import mating
from evonet.backends.cuda.genetics.cost import GenesWorkload, price_genes
from evonet.backends.cuda.pricing import price_breeding, price_generation
from evonet.backends.cuda.scheduling import compiled
from evonet.evolution import NEAT
from evonet.evolution.record import Seconds, describe_generation
from evonet.schedule import build_schedule
from evonet.tasks import xor
from tests.cupy_stand_in import Machine
from tests.support.evolution_cases import make_config

Lend = Callable[..., Machine]
GENES = GenesWorkload(10_000, 500_000, 2_000_000, 4, old_species=20, new_species=2)


def price(genes: GenesWorkload, card: int = 0) -> dict[str, float]:
    """Seconds by phase."""
    limits, clock = CARDS[card].limits, CARDS[card].gigahertz
    found = {"breed": 0.0, "speciate": 0.0, "compile": 0.0}
    for one in price_genes(genes, limits, clock, CARDS[card].memory * 1e9):
        found[one.phase] += one.seconds
    return found


@pytest.mark.parametrize(
    ("field", "phases"),
    [
        ("num_nodes", ("breed", "speciate", "compile")),
        ("num_connections", ("breed", "speciate", "compile")),
        ("itemsize", ()),
        ("old_species", ("speciate",)),
        ("new_species", ("speciate",)),
    ],
)
def test_a_phase_costs_more_if_it_has_more_to_do(field: str, phases: tuple[str, ...]) -> None:
    usual = price(GENES)
    more = price(dataclasses.replace(GENES, **{field: 2 * getattr(GENES, field)}))
    for phase in usual:
        assert more[phase] >= usual[phase]
        if phase in phases:
            assert more[phase] > usual[phase]


def test_many_genomes_cost_as_many_times_as_much() -> None:
    many = GenesWorkload(1_000_000, 5_000_000, 8_000_000, 4)
    twice = GenesWorkload(2_000_000, 10_000_000, 16_000_000, 4)
    for phase, seconds in price(many).items():
        assert price(twice)[phase] == pytest.approx(2 * seconds, rel=0.1)


@pytest.mark.parametrize("least", [30, 31], ids=["ranked there", "ranked here"])
def test_launches_and_waits_are_those_of_a_generation(
    least: int, imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = imaginary_gpus()
    monkeypatch.setattr(mating, "LEAST_RANKED", least)
    waits = 0
    download = Device.download

    def counting(self: Device, array: object, out: np.ndarray) -> None:
        nonlocal waits
        waits += 1
        download(self, array, out)

    monkeypatch.setattr(Device, "download", counting)
    monkeypatch.setattr(compiled._Job, "functions", lambda self: "")  # custom ones of other tests
    config = make_config({"neat.pop_size": 30, "speciation.threshold": 90.0})
    algorithm = NEAT(config, seed=1, num_inputs=2, num_outputs=1, backend="cuda")
    task, seconds = xor(), Seconds(ask=0.0, compile=0.0, evaluate=0.0, tell=0.0)
    fitness = np.linspace(1.0, 0.0, 30)
    for _ in range(2):
        before, waits = machine.launches.total(), 0
        old = len(algorithm.species)
        network = evonet.compile(algorithm.ask(), backend="cuda")
        task.evaluate(network, seed=1)
        algorithm.tell(fitness)
        describe_generation(algorithm, 0, seconds)
        fitness = fitness - 1.0  # the best genome stays the first one
    found = machine.launches.total() - before, waits
    population = algorithm.state.population
    genes = GenesWorkload(
        *(30, population.num_nodes, population.num_connections, 4),
        *(old, len(algorithm.species) - old),
    )
    schedule = build_schedule(population)
    model = price_generation(genes, Workload.of(schedule, 0, 30, 4, True), CARDS[0].limits)
    assert (model.launches, model.waits) == found
    assert model.total == pytest.approx(model.kernels + model.copies + model.calls)


def test_ranking_is_priced_where_the_gpu_does_it() -> None:
    few, many = (
        dataclasses.replace(GENES, num_genomes=count)
        for count in (mating.LEAST_RANKED - 1, mating.LEAST_RANKED)
    )
    kernels = [
        {one.kernel for one in price_genes(each, CARDS[0].limits, 1.0, 1e11)}
        for each in (few, many)
    ]
    assert kernels[1] - kernels[0] == {
        "rank_scores",
        "rank_species",
        "rank_members",
        "draw_parents",
        "argsort",
    }
    assert not kernels[0] - kernels[1]
    assert price_breeding(many, CARDS[0].limits) > price_breeding(few, CARDS[0].limits)
