"""The classifier: it learns, follows scikit-learn's conventions, and survives being killed."""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import sys
import unittest
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import estimator_checks_generator

import evonet
from evonet import CheckpointError, EvonetError, FileFormatError, OptionError, ShapeError
from evonet.learning.wide.classifier import WideClassifier
from evonet.learning.wide.planted import PlantedShape, plant
from evonet.learning.wide.rows import read_rows
from evonet.learning.wide.trunk import padded

QUICK: dict[str, Any] = {"hidden": 16, "epochs": 30, "batch": 16, "threads": 1}

with warnings.catch_warnings():  # that it does not derive from scikit-learn's class
    warnings.simplefilter("ignore")
    CHECKS = list(estimator_checks_generator(WideClassifier(**QUICK)))


def digits() -> tuple[np.ndarray, ...]:
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    train, test = order[:1300], order[1300:]
    return x[train], y[train], x[test], y[test]


@pytest.mark.parametrize("hash", ["dwta", "simhash"])
def test_it_learns_digits_from_some_classes_per_sample(hash: str) -> None:
    x, y, held_x, held_y = digits()
    made = WideClassifier(hidden=64, epochs=12, batch=64, hash=hash, limit=3, shared=3, minimum=3)
    made.fit(x, y)
    assert made.score(held_x, held_y) > 0.93
    assert made.history_[-1]["active_share"] < 0.7
    assert made.history_[-1]["loss"] < made.history_[0]["loss"]


def test_it_learns_planted_labels_from_sparse_features() -> None:
    shape = PlantedShape(2_000, 1_000, 24, 2, 50)
    x, y = plant(shape, 6000, seed=3)
    held = plant(shape, 500, seed=3, first=10**6)
    made = WideClassifier(epochs=3, limit=32, shared=64, minimum=32).fit(x, y)
    assert made.precision(*held, k=1) > 0.6
    assert made.precision(*held, k=5) > 0.2
    best = made.predict(held[0], k=5)
    assert best.shape == (500, 5)
    np.testing.assert_array_equal(best[:, 0], made.predict(held[0]))
    assert made.history_[-1]["active_share"] < 0.15


def test_planted_samples_do_not_depend_on_what_else_is_drawn() -> None:
    whole, part = plant("small", 50, seed=1), plant("small", 10, seed=1, first=20)
    for a, b in zip(whole, part, strict=True):
        assert (a[20:30] != b).nnz == 0
    norms = np.sqrt(whole[0].multiply(whole[0]).sum(1))
    np.testing.assert_allclose(norms, 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("estimator", "check"),
    CHECKS,
    ids=lambda each: getattr(getattr(each, "func", each), "__name__", ""),
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    with contextlib.suppress(unittest.SkipTest):  # for what is not installed, such as pandas
        check(estimator)


def test_names_of_classes_come_back(tmp_path: Path) -> None:
    x, y, held_x, _ = digits()
    names = np.array([f"digit {i}" for i in range(10)])
    made = WideClassifier(hidden=16, epochs=2).fit(x, names[y])
    assert made.predict(held_x)[0] in names
    made.save(tmp_path / "model")
    again = WideClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(held_x, k=3), made.predict(held_x, k=3))


def test_a_fit_is_a_function_of_the_seed(tmp_path: Path) -> None:
    x, y, *_ = digits()
    files = []
    for seed, threads, backend in (
        (1, 1, "cpu"),
        (1, 3, "cpu"),
        (2, 1, "cpu"),
        (1, 1, "reference"),
    ):
        made = WideClassifier(hidden=16, epochs=1, seed=seed, threads=threads, backend=backend)
        made.fit(x[:100], y[:100]).save(tmp_path / "model")
        files.append((tmp_path / "model").read_bytes())
    assert files[0] == files[1] == files[3] != files[2]


def test_partial_fit_and_saving_in_between(tmp_path: Path) -> None:
    x, y, held_x, held_y = digits()
    made = WideClassifier(num_classes=10, hidden=32, batch=32, rebuild=7)
    made.partial_fit(x[:600], y[:600])
    copied = pickle.loads(pickle.dumps(made))
    for each in (made, copied):
        for _ in range(6):
            each.partial_fit(x[600:], y[600:])
    np.testing.assert_array_equal(made.top(held_x, 3)[1], copied.top(held_x, 3)[1])
    assert made.score(held_x, held_y) > 0.85
    with pytest.raises(ShapeError, match="expecting 64 features"):
        made.partial_fit(x[:, :5], y)
    with pytest.raises(ShapeError, match="0 to 9"):
        made.partial_fit(x, y + 1)


def test_early_stopping_ends_a_fit() -> None:
    x, y, *_ = digits()
    made = WideClassifier(hidden=32, epochs=100, validation=0.2, patience=2).fit(x[:400], y[:400])
    scores = [each["held_out"] for each in made.history_]
    assert len(scores) == made.n_iter_ < 100
    assert max(scores) == scores[-3]


PROGRAM = """
import sys
import numpy as np
from evonet import WideClassifier
from evonet.learning.wide import classifier
from evonet.learning.wide.planted import plant

x, y = plant("small", 1200, seed=2)
made = WideClassifier(hidden=16, epochs=3, batch=32, rebuild=5, limit=16, shared=16, minimum=8,
                      validation=0.1, checkpoint=sys.argv[1], checkpoint_every=20)
limit = int(sys.argv[2])
if limit:
    step = classifier.WideModel.train
    def train(self, batch):
        if self.step == limit:
            import os
            os.kill(os.getpid(), 9)
        return step(self, batch)
    classifier.WideModel.train = train
made.fit(x, y, resume=True).save(sys.argv[3])
"""


def test_a_killed_fit_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    def run(name: str, limit: int, folder: str) -> int:
        arguments = [tmp_path / f"{folder}.checkpoint", limit, tmp_path / name]
        command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
        return subprocess.run(command, check=False).returncode

    assert run("whole", 0, "a") == 0
    assert run("killed", 47, "b") == -9
    assert (tmp_path / "b.checkpoint").exists()
    assert not (tmp_path / "killed").exists()
    assert run("resumed", 0, "b") == 0
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_checkpoint_of_another_fit_is_refused(tmp_path: Path) -> None:
    x, y = plant("small", 400, seed=2)
    options: dict[str, Any] = {"hidden": 16, "epochs": 1, "batch": 32, "rebuild": 2}
    options |= {"checkpoint": tmp_path / "c", "checkpoint_every": 1}
    WideClassifier(**options).fit(x, y)
    with pytest.raises(CheckpointError, match="other settings: hidden"):
        WideClassifier(**{**options, "hidden": 17}).fit(x, y, resume=True)
    with pytest.raises(CheckpointError, match="other examples"):
        WideClassifier(**options).fit(x[::-1], y[::-1], resume=True)
    WideClassifier(**options).fit(x, y).save(tmp_path / "c")
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        WideClassifier(**options).fit(x, y, resume=True)


def test_files_that_hold_something_else(tmp_path: Path) -> None:
    x, y, *_ = digits()
    made = WideClassifier(hidden=16, epochs=1).fit(x[:100], y[:100])
    made.save(tmp_path / "m")
    data = bytearray((tmp_path / "m").read_bytes())
    data[-5] ^= 1
    (tmp_path / "m").write_bytes(data)
    with pytest.raises(FileFormatError, match="damaged"):
        WideClassifier.load(tmp_path / "m")
    evonet.Population.random(0, 1, 1, num_nodes=1, num_connections=0).save(tmp_path / "p")
    with pytest.raises(FileFormatError, match="format"):
        WideClassifier.load(tmp_path / "p")


def test_a_trunk_takes_the_place_of_the_hidden_layer(tmp_path: Path) -> None:
    x, y, held_x, held_y = digits()
    trunk = evonet.Population.random(1, 64, 40, num_nodes=60, num_connections=900)
    made = WideClassifier(trunk=trunk, epochs=15).fit(x / 16, y)
    assert made.model_.inputs is None
    assert made.score(held_x / 16, held_y) > 0.5
    made.save(tmp_path / "m")
    again = WideClassifier.load(tmp_path / "m", trunk=evonet.compile(trunk))
    np.testing.assert_array_equal(again.predict(held_x / 16), made.predict(held_x / 16))
    with pytest.raises(OptionError, match="a trunk="):
        WideClassifier.load(tmp_path / "m")
    with pytest.raises(ShapeError, match="64 inputs"):
        WideClassifier(trunk=trunk).fit(x[:, :5], y)
    with pytest.raises(OptionError, match="one genome"):
        WideClassifier(trunk="champion").fit(x, y)


def test_a_trunk_learns_with_the_level_above_it(tmp_path: Path) -> None:
    x, y, held_x, held_y = digits()
    trunk = evonet.Population.random(1, 64, 24, num_nodes=30, num_connections=600)
    options: dict[str, Any] = {"trunk": trunk, "epochs": 3, "batch": 64, "seed": 3}
    fixed, made, again = (
        WideClassifier(train_trunk=train, threads=threads, **options).fit(x[:600] / 16, y[:600])
        for train, threads in ((False, 1), (True, 1), (True, 2))
    )
    assert made.score(held_x / 16, held_y) > fixed.score(held_x / 16, held_y) + 0.05
    assert made.trunk_.population.weight.tobytes() == again.trunk_.population.weight.tobytes()
    assert made.trunk_.population.weight.tobytes() != trunk.weight.tobytes()
    made.save(tmp_path / "m")
    for copied in (
        WideClassifier.load(tmp_path / "m", trunk=trunk),
        pickle.loads(pickle.dumps(made)),
    ):
        np.testing.assert_array_equal(copied.top(held_x / 16)[1], made.top(held_x / 16)[1])
    other = evonet.Population.random(1, 64, 24, num_nodes=30, num_connections=599)
    with pytest.raises(ShapeError, match="other genes"):
        WideClassifier.load(tmp_path / "m", trunk=other)
    with pytest.raises(OptionError, match="train_trunk"):
        WideClassifier(train_trunk=True, trunk=evonet.compile(trunk)).fit(x, y)


def test_slopes_of_a_trunk_are_those_of_the_loss() -> None:
    """Steps of plain rate against differences of the loss by one output's bias."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 4)), np.array([0, 1, 2, 0, 1, 2])
    trunk = evonet.Population.random(1, 4, 3, num_nodes=3, num_connections=9, seed=2)
    made = WideClassifier(3, trunk=trunk, train_trunk=True, epochs=1, rate=1e-9)
    made.fit(x, y)
    model, rows = made.model_, read_rows(x)
    labels = np.arange(7), y.astype(np.int32)

    def loss_of(hidden: np.ndarray) -> tuple[float, Any]:
        active = model.find_active(hidden, *labels)
        gradient, loss, _ = model.kernels.forward(hidden, model.outputs, active, *labels, 1 / 6)
        slopes = model.kernels.sum(active, gradient, model.outputs.weights, False)
        return float(loss.astype(np.float64).mean()), slopes

    hidden = padded(made.trunk_.answer(rows), model.settings.width)
    _, slopes = loss_of(hidden)
    for b, j in ((0, 0), (3, 2), (5, 1)):
        found = []
        for step in (-1e-2, 1e-2):
            moved = hidden.copy()
            moved[b, j] += np.float32(step)
            found.append(loss_of(moved)[0])
        assert slopes[b, j] == pytest.approx((found[1] - found[0]) / 2e-2, abs=1e-3)


def test_a_rate_that_is_too_large_is_named() -> None:
    x, y, *_ = digits()
    with pytest.raises(EvonetError, match="Lower the rate"):
        WideClassifier(rate=1e37, epochs=5).fit(x, y)


@pytest.mark.parametrize(
    ("x", "y", "match"),
    [
        (np.ones((3, 2)), [0, 1], "3"),
        (np.ones((2, 2)), csr_matrix((2, 0)), "0 feature"),
        (np.ones((2, 2)), np.ones((2, 2, 2)), "shape"),
        (csr_matrix([[np.inf, 1], [0, 1]]), [0, 1], "inf"),
        (np.ones((2, 2)), [0.5, 1], "Unknown label type"),
    ],
)
def test_bad_examples_are_refused(x: Any, y: Any, match: str) -> None:
    with pytest.raises(ShapeError, match=match):
        WideClassifier().fit(x, y)
