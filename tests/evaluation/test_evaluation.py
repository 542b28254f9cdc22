"""Evaluations are believed only if their shapes and numbers fit the population."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from evonet import NEAT, Config, Evaluation, FitnessError, Population
from evonet.evaluation import check_fitness
from evonet.evolution.record import Seconds, describe_generation

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


@pytest.mark.parametrize(
    "fitness",
    [
        np.ones(3, complex),
        [1j, 2.0, 3.0],
        ["1", "2", "3"],
        [b"1", b"2", b"3"],
        np.array(["1", "2", "3"]),
        np.array(["1", 2.0, 3.0], object),
        np.ma.array(np.ones(3), mask=[0, 1, 0]),
        np.zeros(3, "datetime64[s]"),
        [10**400, 1, 2],
        [{}, 1, 2],
    ],
)
def test_fitness_that_is_no_array_of_real_numbers_is_refused(fitness: object) -> None:
    with pytest.raises(FitnessError, match="fitness must be an array of numbers"):
        Evaluation.of(fitness).checked(3)


@pytest.mark.parametrize(
    "fitness",
    [
        np.ma.array(np.arange(3.0)),
        np.arange(3, dtype=np.uint8),
        np.arange(3, dtype=np.float16),
        [Fraction(0), Decimal(1), 2],
        [True, 0.5, np.float32(1)],
    ],
)
def test_real_numbers_of_any_type_are_fitness(fitness: object) -> None:
    found = Evaluation.of(fitness).checked(3).fitness
    assert found.dtype == np.float64
    assert found.tolist() == [float(value) for value in fitness]  # type: ignore[attr-defined]


@pytest.mark.parametrize("largest", [np.finfo(np.float64).max, -np.finfo(np.float64).max])
def test_the_largest_fitness_evolves(largest: float) -> None:
    config = Config.from_dict({"neat": {"pop_size": 20}})
    neat = NEAT(config, 1, num_inputs=2, num_outputs=1)
    for generation in range(4):
        neat.ask()
        neat.tell([largest if i % 2 or generation % 2 else -largest for i in range(20)])
        record = describe_generation(neat, 20, Seconds(ask=0, compile=0, evaluate=0, tell=0))
        assert np.isfinite([record.mean, record.std, record.best]).all()
