"""Results: what a network answers, as data for reports, and validation parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import evonet
from evonet import OptionError, Population
from evonet.config import Config
from evonet.evaluation import Evaluation
from evonet.numerics.intervals import proportion_interval
from evonet.runs import start_run
from evonet.tasks import Supervised, classification, regression, xor
from evonet.tasks.examples import Examples
from evonet.tasks.results import MOST_POINTS, confusion_matrix


def linear(weights: list[list[float]]) -> Population:
    """One genome whose outputs are weighted sums of its inputs; weights [O, I]."""
    nodes = [{"key": o, "activation": "identity"} for o in range(len(weights))]
    links = [
        {"source": -1 - i, "target": o, "weight": weight}
        for o, row in enumerate(weights)
        for i, weight in enumerate(row)
    ]
    return Population.from_genes(len(weights[0]), len(weights), [(nodes, links)])


def test_a_confusion_matrix_counts_who_was_taken_for_whom() -> None:
    right = np.eye(3)[[0, 0, 1, 2, 2, 2]]
    answers = np.eye(3)[[0, 1, 1, 0, 2, 2]] * 5.0
    assert confusion_matrix(right, answers).tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 2]]
    yes = np.array([[1.0], [0.0], [1.0]])
    assert confusion_matrix(yes, np.array([[0.9], [0.7], [0.1]])).tolist() == [[0, 1], [1, 1]]


def test_results_of_classes_agree_with_the_scores() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 3))
    task = classification(data=(x, x.argmax(axis=1)), test_fraction=0.25)
    network = evonet.compile(linear([[1, 0, 0.5], [0, 1, 0], [0, 0.4, 1]]))
    found = json.loads(json.dumps(task.results(network)))
    assert found["kind"] == "classification"
    assert found["outputs"] == ["0", "1", "2"]
    assert found["parts"]["held out"]["examples"] == 15
    for name, part in task.parts().items():
        matrix = np.array(found["parts"][name]["confusion"])
        scores = found["parts"][name]["scores"]
        assert matrix.sum() == len(part.x)
        assert scores["accuracy"] == pytest.approx(np.trace(matrix) / matrix.sum())
        assert scores["loss"] == pytest.approx(task.scores(network, part)["loss"][0])


def test_only_held_out_scores_have_an_interval_and_a_guess_beside_them() -> None:
    x = np.random.default_rng(3).normal(size=(60, 3))
    names = np.array(["ant", "bee", "cat"])[x.argmax(axis=1)]
    task = classification(data=(x, names), test_fraction=0.25)
    network = evonet.compile(linear([[1, 0, 0.5], [0, 1, 0], [0, 0.4, 1]]))
    results = task.results(network)
    assert sum(results["matters"]) == pytest.approx(1, abs=1e-4)
    parts = results["parts"]
    assert "intervals" not in parts["train"]
    found = parts["held out"]
    hits, count = int(np.trace(np.array(found["confusion"]))), found["examples"]
    assert found["intervals"]["accuracy"] == list(proportion_interval(hits, count))
    frequent = int(np.array(parts["train"]["confusion"]).sum(axis=1).argmax())
    assert found["guess"]["answer"] == f'"{["ant", "bee", "cat"][frequent]}"'
    assert found["guess"]["accuracy"] == sum(found["confusion"][frequent]) / count
    weighted = classification(data=(x, names), test_fraction=0.25, class_weights="balanced")
    again = weighted.results(network)["parts"]["held out"]
    assert again["intervals"] == found["intervals"]
    assert "guess" not in again  # accuracy is not what was asked for


def test_the_interval_of_r2_surrounds_it() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 3))
    task = regression(data=(x, x @ [1, 2, 0] + rng.normal(size=80)), test_fraction=0.5)
    found = task.results(evonet.compile(linear([[1, 2, 0]])))["parts"]["held out"]
    low, high = found["intervals"]["r2"]
    assert 0 < low < found["scores"]["r2"] < high < 1
    assert found["guess"] == {"r2": 0.0, "answer": "the mean"}


def test_results_of_numbers_hold_pairs_and_r2() -> None:
    x = np.linspace(-1, 1, 2 * MOST_POINTS)[:, None]
    task = regression(data=(x, 2 * x[:, 0]))
    half = evonet.compile(linear([[1.0]]))
    part = task.results(half)["parts"]["train"]
    assert part["scores"]["r2"] == pytest.approx(0.75)
    assert len(part["points"]) == 1
    assert len(part["points"][0]) == MOST_POINTS
    for right, answered in part["points"][0]:
        assert answered == pytest.approx(right / 2, abs=1e-6)


def test_results_of_a_truth_table_are_its_rows() -> None:
    rows = xor().results(evonet.compile(linear([[0.25, 0.5]])))["parts"]["train"]["rows"]
    assert rows == [[0, 0, 0, 0], [0, 1, 1, 0.5], [1, 0, 1, 0.25], [1, 1, 0, 0.75]]


def test_a_run_writes_the_results_of_its_champion(tmp_path: Path) -> None:
    config = Config.from_dict({"run": {"generations": 3, "threads": 1}, "task": {"name": "xor"}})
    result = start_run(tmp_path / "run", xor(), config)
    assert result.best is not None
    found = json.loads((tmp_path / "run" / "results.json").read_text())
    assert (found["task"], found["id"]) == ("xor", result.best.id)
    errors = [(row[2] - row[3]) ** 2 for row in found["parts"]["train"]["rows"]]
    assert 4 - sum(errors) == pytest.approx(result.best.fitness, abs=1e-5)


# Validation.


def split_task() -> Supervised:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 3))
    y = x[:, :1] - x[:, 1:2] + rng.normal(0, 0.5, (40, 1))
    parts = [Examples(x[i], y[i]) for i in (slice(10, 25), slice(25, 40))]
    return Supervised(x[:10], y[:10], mean=True, validation=parts[0], test=parts[1])


def small(**settings: Any) -> Config:
    tables = {
        "task": {"name": "regression"},
        "neat": {"pop_size": 20},
        "run": {"threads": 1},
        "learning": {"steps": 0},
    }
    return Config.from_dict(tables).replace(settings)


def test_the_validation_part_decides_which_genome_is_best() -> None:
    task = split_task()
    assert task.validation is not None
    seen: list[tuple[float, float]] = []
    result = evonet.evolve(
        task,
        small(),
        generations=25,
        callbacks=[lambda record: seen.append((record.details["validation"], record.best))],
    )
    best = result.best
    assert best is not None
    assert best.validation == max(validation for validation, _ in seen)
    assert (best.validation, best.fitness) == seen[best.generation]
    assert best.fitness < max(fitness for _, fitness in seen), "the fittest genome overfits here"
    network = evonet.compile(best.genome)
    loss = task.scores(network, task.validation)["loss"][0]
    assert best.validation == pytest.approx(-loss, rel=1e-6)


def test_validation_changes_no_parents() -> None:
    task, blind = split_task(), split_task()
    blind.validation = None
    runs = [evonet.evolve(t, small(), generations=8) for t in (task, blind)]
    first, second = (run.algorithm.state.population for run in runs)
    assert first.weight.tobytes() == second.weight.tobytes()


def test_a_run_with_validation_resumes_exactly(tmp_path: Path) -> None:
    config = small(**{"run.patience": 6})
    whole = evonet.evolve(split_task(), config, generations=40)
    assert whole.generation < 39, "patience must have ended it"
    part = evonet.evolve(split_task(), config, generations=3)
    part.algorithm.save(tmp_path)
    rest = evonet.evolve(split_task(), config, generations=40, resume=tmp_path)
    assert rest.best is not None
    assert whole.best is not None
    assert (rest.generation, rest.best.validation) == (whole.generation, whole.best.validation)
    assert rest.best.population.weight.tobytes() == whole.best.population.weight.tobytes()


class _Endless:
    """Fitness grows with the generation, and validation is not a number."""

    num_inputs = num_outputs = 1
    scored = 0

    def evaluate(self, network: evonet.Network, seed: int) -> Evaluation:
        self.scored += 1
        nan: NDArray[Any] = np.full(len(network), np.nan)
        good = nan + 1 if self.scored != 3 else np.ones(len(network))
        return Evaluation(np.full(len(network), float(self.scored)), validation=good)


def test_a_validation_that_is_no_number_never_wins(tmp_path: Path) -> None:
    result = evonet.evolve(_Endless(), small(), generations=5)  # type: ignore[arg-type]
    assert result.best is not None
    assert (result.best.generation, result.best.validation) == (2, 1.0)
    first = evonet.evolve(_Endless(), small(), generations=1)  # type: ignore[arg-type]
    first.algorithm.save(tmp_path)
    assert evonet.NEAT.resume(tmp_path).best is not None


# Batches.


def batch_task(**options: Any) -> Supervised:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 3))
    labels = (x[:, 0] + rng.normal(0, 0.3, 60) > 0).astype(int)
    return classification(data=(x, labels), batch_fraction=0.25, **options)


def test_a_batch_is_a_part_of_the_training_examples_by_the_seed() -> None:
    task = batch_task()
    network = evonet.compile(linear([[1, 0, 0], [-1, 0, 0.5]]))
    assert task.batch == 15
    scores = {seed: task.evaluate(network, seed)[0] for seed in range(20)}
    assert len(set(scores.values())) > 15
    assert scores[7] == task.evaluate(network, 7)[0]
    assert np.mean(list(scores.values())) == pytest.approx(
        -task.scores(network, task.examples())["loss"][0], abs=0.1
    )
    for wrong in (0, 1.5, "half"):
        with pytest.raises(OptionError, match="batch_fraction"):
            classification(data=(task.x, [0, 1] * 30), batch_fraction=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("fraction", [0.0, 0.25])
def test_a_champion_of_batches_is_the_best_on_a_whole_part(fraction: float) -> None:
    task = batch_task(validation_fraction=fraction)
    judge = task.validation or task.examples()
    result = evonet.evolve(task, small(), generations=15)
    best = result.best
    assert best is not None
    loss = task.scores(evonet.compile(best.genome), judge)["loss"][0]
    assert best.validation == pytest.approx(-loss, rel=1e-6)


class _Overfit:
    """Fitness is high from the start; validation rises by 1 per generation."""

    num_inputs = num_outputs = 1
    scored = 0

    def evaluate(self, network: evonet.Network, seed: int) -> Evaluation:
        self.scored += 1
        ones = np.ones(len(network))
        return Evaluation(100 * ones, validation=self.scored * ones)


def test_a_threshold_has_to_be_reached_on_the_validation_part() -> None:
    config = small(**{"neat.fitness_threshold": 4.0})
    result = evonet.evolve(_Overfit(), config, generations=10)  # type: ignore[arg-type]
    assert result.solved
    assert result.generation == 3
