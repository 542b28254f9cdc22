"""Without workers, a task that raises is treated as it is with workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evonet
from evonet import Population
from evonet.config.workers import WorkersTable
from evonet.definitions.dynamics import Dynamics
from evonet.evaluators import Here, open_evaluator
from evonet.tasks.base import Task
from tests.support.worker_tasks import Bad, Indexed, Lamarckian

POPULATION = Population.random(23, 2, 1, num_nodes=4, num_connections=8, seed=3)
IDS = np.arange(100, 123)
OPTIONS: dict[str, Any] = {"dynamics": Dynamics()}


class Picky(Lamarckian):
    """Raises for one genome."""

    def score(self, round: Any) -> Any:
        if 7 in round.network.genome_index:
            raise ValueError("not this one")
        return super().score(round)


class Episodes(Task):
    """Raises in one episode of one genome."""

    num_inputs, num_outputs = 2, 1

    def returns(self, network: Any, seed: int, first_episode: int, episodes: int) -> Any:
        numbers = first_episode + np.arange(episodes)
        if 1 in network.genome_index and 13 in numbers:
            raise ValueError("not this one")
        return network.genome_index[:, None] * 100.0 + numbers


def test_only_the_genome_that_raises_has_no_fitness() -> None:
    there = open_evaluator(Picky(), WorkersTable(), OPTIONS, "worst")
    found = there.evaluate(POPULATION, IDS, 1, 0)
    wanted = Here(Lamarckian(), **OPTIONS).evaluate(POPULATION, IDS, 1, 0)
    assert np.isnan(found.fitness).nonzero()[0].tolist() == [7]
    assert np.delete(found.fitness, 7).tolist() == np.delete(wanted.fitness, 7).tolist()
    assert found.population is not None
    assert wanted.population is not None
    assert found.population[:7] == wanted.population[:7]
    assert found.population[7:8] == POPULATION[7:8]  # it has learned nothing
    assert found.population[8:] == wanted.population[8:]
    assert not found.gathered["sums"][7].any()


def test_only_the_episode_that_raises_has_no_return() -> None:
    there = open_evaluator(Episodes(), WorkersTable(), OPTIONS, "worst")
    found = there.retest(POPULATION[:3], 1, 10, 6)
    assert np.argwhere(np.isnan(found)).tolist() == [[1, 3]]
    assert found[2].tolist() == [210.0, 211.0, 212.0, 213.0, 214.0, 215.0]


def test_what_raises_for_every_genome_ends_the_run_as_it_is() -> None:
    task = Bad("raise", guilty=tuple(range(23)))
    there = open_evaluator(task, WorkersTable(), OPTIONS, "worst")
    with pytest.raises(ZeroDivisionError, match="by\nzero"):
        there.evaluate(POPULATION, IDS, 1, 0)


def test_by_default_the_first_error_ends_the_run() -> None:
    there = open_evaluator(Picky(), WorkersTable(), OPTIONS, "error")
    with pytest.raises(ValueError, match="not this one"):
        there.evaluate(POPULATION, IDS, 1, 0)


def test_a_run_has_the_same_champion_with_and_without_workers() -> None:
    best = []
    for workers in (0, 1):
        config = evonet.Config.from_dict(
            {"neat": {"pop_size": 12}, "run": {"on_bad_fitness": "worst"}}
        )
        result = evonet.evolve(Picky(), config, generations=3, workers=workers)
        assert result.best is not None
        best.append(result.best)
    assert best[0].genome == best[1].genome
    assert best[0].fitness == best[1].fitness


def test_a_task_that_does_not_raise_is_scored_once() -> None:
    class Counting(Indexed):
        calls = 0

        def score(self, round: Any) -> Any:
            self.calls += 1
            return super().score(round)

    task = Counting()
    open_evaluator(task, WorkersTable(), OPTIONS, "worst").evaluate(POPULATION, IDS, 1, 0)
    assert task.calls == 1
