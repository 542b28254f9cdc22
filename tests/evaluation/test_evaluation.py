"""Evaluations are believed only if their shapes and numbers fit the population."""

from __future__ import annotations

import re

import numpy as np
import pytest

from evonet import Evaluation, FitnessError, Population
from evonet.evaluation import check_fitness

IDS = np.arange(1, 4)


def test_a_bare_array_is_an_evaluation() -> None:
    found = Evaluation.of([1, 2, 3]).checked(3)
    assert found.fitness.tolist() == [1.0, 2.0, 3.0]
    assert (found.measures, found.objectives, found.population) == (None, None, None)


def test_an_evaluation_passes_through() -> None:
    given = Evaluation(np.zeros(3), info={"seen": 1})
    assert Evaluation.of(given) is given
    assert given.checked(3).info == {"seen": 1}


@pytest.mark.parametrize(
    ("fitness", "words"),
    [
        (np.zeros(2), "fitness must have shape [3]"),
        (np.zeros((3, 1)), "found [3, 1]"),
        (["a", "b", "c"], "fitness must be an array of numbers"),
        (None, "fitness must have shape [3]"),
    ],
)
def test_fitness_of_another_shape_is_refused(fitness: object, words: str) -> None:
    with pytest.raises(FitnessError, match=re.escape(words)):
        Evaluation.of(fitness).checked(3)


@pytest.mark.parametrize("name", ["measures", "objectives"])
def test_rows_must_be_as_many_as_genomes_and_finite(name: str) -> None:
    def evaluation(rows: object) -> Evaluation:
        return Evaluation(np.zeros(3), **{name: rows})  # type: ignore[arg-type]

    assert getattr(evaluation(np.ones((3, 2))).checked(3), name).shape == (3, 2)
    with pytest.raises(FitnessError, match=rf"{name} must have shape \[3, any\]"):
        evaluation(np.ones((2, 2))).checked(3)
    with pytest.raises(FitnessError, match=rf"genome 1: its {name} are not all finite"):
        evaluation(np.array([[0.0], [np.nan], [0.0]])).checked(3)


def test_learned_genomes_must_be_as_many_as_were_evaluated() -> None:
    learned = Population.random(2, 1, 1, num_nodes=1, num_connections=1)
    with pytest.raises(FitnessError, match="population must have 3 genomes"):
        Evaluation(np.zeros(3), population=learned).checked(3)


@pytest.mark.parametrize(("sign", "worst"), [(1.0, -2.0), (-1.0, 5.0)])
def test_bad_fitness_counts_as_the_worst(sign: float, worst: float) -> None:
    fitness = np.array([5.0, np.nan, -2.0])
    found = check_fitness(fitness, IDS, sign, "worst")
    assert found.tolist() == [5.0, worst, -2.0]
    assert np.isnan(fitness[1])


@pytest.mark.parametrize("policy", ["error", "worst"])
def test_without_a_finite_fitness_there_is_no_worst_one(policy: str) -> None:
    with pytest.raises(FitnessError, match=r"genome 0 \(id 1\)"):
        check_fitness(np.full(3, np.inf), IDS, 1.0, policy)  # type: ignore[arg-type]
