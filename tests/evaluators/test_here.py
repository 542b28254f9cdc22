"""The evaluator of this process decodes, compiles, scores and re-tests."""

from __future__ import annotations

import numpy as np
import pytest

import evonet
from evonet import OptionError, Population
from evonet.definitions.dynamics import Dynamics
from evonet.evaluation import Evaluation, Round
from evonet.evaluators import Here
from evonet.genes.population import PARTS
from evonet.tasks import Control, xor
from evonet.tasks.base import Task

POPULATION = Population.random(5, 2, 1, num_nodes=4, num_connections=8, seed=3)
IDS = np.arange(10, 15)


class Curious(Task):
    """Keeps the rounds that it scores."""

    num_inputs, num_outputs = 2, 1

    def __init__(self) -> None:
        self.rounds: list[Round] = []

    def score(self, round: Round) -> Evaluation:
        self.rounds.append(round)
        return Evaluation(np.asarray(round.ids, np.float64))


class Half:
    """Decodes genomes to phenotypes with half the weights."""

    def decode(self, population: Population) -> Population:
        arrays = {name: getattr(population, name) for name in PARTS}
        return Population(**{**arrays, "weight": population.weight / 2})


def test_scores_are_those_of_the_task() -> None:
    found = Here(xor(), Dynamics()).evaluate(POPULATION, IDS, seed=1, generation=0)
    assert found.fitness.tolist() == xor().evaluate(evonet.compile(POPULATION), 1).tolist()


def test_a_task_can_see_genomes_and_their_numbers() -> None:
    task = Curious()
    found = Here(task, Dynamics()).evaluate(POPULATION, IDS, seed=7, generation=4)
    (round,) = task.rounds
    assert found.fitness.tolist() == IDS.tolist()
    assert (round.seed, round.generation) == (7, 4)
    assert round.population is POPULATION
    assert len(round.network) == 5


def test_phenotypes_are_compiled_and_genotypes_reported() -> None:
    task = Curious()
    Here(task, Dynamics(), decoder=Half()).evaluate(POPULATION, IDS, seed=0, generation=0)
    (round,) = task.rounds
    assert round.population is POPULATION
    wanted = evonet.compile(Half().decode(POPULATION)).schedule
    assert round.network.schedule == wanted


def test_time_is_booked_by_phase() -> None:
    here = Here(xor(), Dynamics())
    here.evaluate(POPULATION, IDS, seed=0, generation=0)
    assert set(here.spent) == {"compile", "evaluate"}
    assert all(seconds > 0 for seconds in here.spent.values())


def test_a_retest_plays_other_episodes() -> None:
    genomes = Population.random(3, 4, 2, num_nodes=4, num_connections=8, seed=2)
    task = Control("cartpole", episodes=2, retests=0)
    here = Here(task, Dynamics())
    returns = here.retest(genomes, seed=5, first_episode=0, episodes=4)
    assert returns.shape == (3, 4)
    later = here.retest(genomes, seed=5, first_episode=2, episodes=2)
    assert later.tolist() == returns[:, 2:].tolist()
    fitness = here.evaluate(genomes, IDS[:3], seed=5, generation=0).fitness
    assert fitness.tolist() == returns[:, :2].mean(axis=1).tolist()


def test_without_episodes_there_is_nothing_to_retest() -> None:
    with pytest.raises(OptionError, match="no episodes"):
        Here(xor(), Dynamics()).retest(POPULATION, seed=0, first_episode=0, episodes=1)
