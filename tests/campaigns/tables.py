"""Compares what the defaults learn from tables with linear models and with a dense network.

    python -m tests.campaigns.tables [--seeds 5] [--splits 1] [--no-learn] [--set K=V] [NAME ...]

Runs `evonet evolve NAME --seed S` as a user would, and compares the held-out score of the champion
with scikit-learn's logistic regression or ridge regression, and with its MLPClassifier or
MLPRegressor of 100 hidden nodes, on the same examples: they learn from training and validation part
together. `--splits N` does so on N splits beside the default one, a seed for each; `wide` is digits
with 24 by 24 noisy pixels, 576 inputs, from a CSV file; `exclusive` has two columns whose
exclusive-or is the class, among four of noise. Seconds are those of the command, then of the
processor, which hold on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from evonet.tasks import Supervised, make_task

NAMES = ("digits", "breast_cancer", "wine", "diabetes", "iris", "wide", "exclusive")
# What the median of the seeds must reach; diabetes must reach ridge regression.
GOALS = {"digits": 0.96, "breast_cancer": 0.96, "wine": 0.97, "exclusive": 0.98}


def main(arguments: list[str] | None = None) -> int:
    """Prints a line per data set; returns the number of those that miss their goals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES[:4])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--splits", type=int, default=0)
    parser.add_argument("--no-learn", action="store_true")
    parser.add_argument("--set", action="append", default=[], dest="changes")
    given = parser.parse_args(arguments)
    more = ["--no-learn"] if given.no_learn else []
    missed = 0
    for name in given.names:
        for split in (None, *range(given.splits)):
            found, seconds, links = [], [], []
            seeds = range(given.seeds) if split is None else [split]
            with tempfile.TemporaryDirectory() as folder:
                task, arguments = _prepare(name, split, Path(folder))
                for seed in seeds:
                    out = Path(folder) / f"run-{seed}"
                    options = [*_options(given.changes, seed, out), *more]
                    seconds.append(_run([*arguments, *options]))
                    found.append(_held_out(out))
                    genome = json.loads((out / "champion.json").read_text())
                    links.append(sum(link["enabled"] for link in genome["connections"]))
            linear, dense = peer_scores(task)
            goal = GOALS.get(name, linear if name == "diabetes" else 0.0)
            missed += float(np.median(found)) < goal
            wall, processor = np.mean(seconds, axis=0)
            print(
                f"{name:14} split {'default' if split is None else split!s:8} "
                f"held out {' '.join(f'{score:.4f}' for score in found)}  "
                f"median {np.median(found):.4f}  goal {goal:.4f}  linear {linear:.4f}  "
                f"MLP {dense:.4f}  links {np.median(links):.0f}  "
                f"seconds {wall:.1f}, of the processor {processor:.1f}",
                flush=True,
            )
    return missed


def _prepare(name: str, split: int | None, folder: Path) -> tuple[Supervised, list[str]]:
    """Makes a task, and the arguments of the command that evolves on it."""
    if name == "wide":
        path = folder / "wide.csv"
        _write_wide(path)
        options: dict[str, Any] = {"data": path, "test_fraction": 0.2, "standardize": True}
        task = make_task("classification", split_seed=split or 0, **options)
        arguments = [str(path)]
    elif name == "exclusive":
        path = folder / "exclusive.csv"
        _write_exclusive(path)
        options = {"data": path, "test_fraction": 0.2, "standardize": True}
        task = make_task("classification", split_seed=split or 0, **options)
        arguments = [str(path)]
    else:
        task = make_task(name, **({} if split is None else {"split_seed": split}))
        arguments = [name]
    assert isinstance(task, Supervised)
    return task, arguments + ([] if split is None else ["--set", f"task.split_seed={split}"])


def _options(changes: list[str], seed: int, out: Path) -> list[str]:
    settings = [word for change in changes for word in ("--set", change)]
    return ["--seed", str(seed), "--out", str(out), "--quiet", *settings]


def _run(arguments: list[str]) -> tuple[float, float]:
    """Runs the command; returns the seconds that it took, and those of the processor."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "evonet", "evolve", *arguments]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _held_out(run: Path) -> float:
    scores = json.loads((run / "results.json").read_text())["parts"]["held out"]["scores"]
    return float(scores.get("accuracy", scores.get("r2")))


def peer_scores(task: Supervised) -> tuple[float, float]:
    """The held-out scores of a linear model and of an MLP that learn from all other examples."""
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    parts = task.parts()
    test = parts.pop("held out")
    x = np.concatenate([part.x for part in parts.values()])
    y = np.concatenate([part.y for part in parts.values()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if task.loss == "squared":
            models = [RidgeCV(np.logspace(-3, 3, 13)), MLPRegressor(early_stopping=True)]
            right, answers = y[:, 0], test.y[:, 0]
        else:
            models = [LogisticRegression(max_iter=300), MLPClassifier(max_iter=300)]
            right, answers = y.argmax(axis=1), test.y.argmax(axis=1)
        models[1].set_params(random_state=0)
        linear, dense = (float(m.fit(x, right).score(test.x, answers)) for m in models)
    return linear, dense


def _write_wide(path: Path) -> None:
    from sklearn.datasets import load_digits

    digits = load_digits()
    pixels = np.kron(digits.images, np.ones((3, 3)))
    pixels = pixels + np.random.default_rng(1).normal(0, 2, pixels.shape)
    names = [f"p{i}" for i in range(pixels[0].size)]
    rows = (
        ",".join([*(f"{value:.2f}" for value in image.ravel()), f"digit {label}"])
        for image, label in zip(pixels, digits.target, strict=True)
    )
    path.write_text("\n".join([",".join([*names, "digit"]), *rows]))


def _write_exclusive(path: Path) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(0, 1, (1000, 6))
    kinds = np.where((x[:, 0] > 0) != (x[:, 1] > 0), "different", "alike")
    keep = np.abs(x[:, :2]).min(axis=1) > 0.1  # examples on the edge would be a matter of luck
    rows = (
        ",".join([*(f"{value:.3f}" for value in row), kind])
        for row, kind in zip(x[keep], kinds[keep], strict=True)
    )
    path.write_text("\n".join(["a,b,c,d,e,f,kind", *rows]))


if __name__ == "__main__":
    sys.exit(main())
