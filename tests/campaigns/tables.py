"""Compares what the defaults learn from tables with linear models.

    python -m tests.campaigns.tables [--seeds 5] [--splits 1] [--set KEY=VALUE] [NAME ...]

Runs `evonet evolve NAME --seed S` as a user would, and compares the held-out score of the champion
with logistic regression or ridge regression on the same examples. `--splits N` does so on N splits
beside the default one; `wide` is digits with 24 by 24 noisy pixels, 576 inputs, from a CSV file.
Times are processor seconds of the command, so they hold on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from evonet.tasks import Supervised, make_task

NAMES = ("digits", "breast_cancer", "wine", "diabetes", "iris", "wide")
# What the defaults must reach: a score, or how far below the linear model they may stay.
GOALS = {"digits": 0.90, "breast_cancer": 0.96, "wine": 0.95}
RIDGE_MARGIN = 0.03


def main(arguments: list[str] | None = None) -> int:
    """Prints a line per data set; returns the number of those that miss their goals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES[:4])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--splits", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], dest="changes")
    given = parser.parse_args(arguments)
    missed = 0
    for name in given.names:
        for split in (None, *range(given.splits)):
            found, seconds = [], []
            with tempfile.TemporaryDirectory() as folder:
                task, arguments = _prepare(name, split, Path(folder))
                for seed in range(given.seeds):
                    out = Path(folder) / f"run-{seed}"
                    seconds.append(_run([*arguments, *_options(given.changes, seed, out)]))
                    found.append(_held_out(out))
            linear = linear_score(task)
            goal = GOALS.get(name, linear - RIDGE_MARGIN if name == "diabetes" else 0.0)
            missed += min(found) < goal
            print(
                f"{name:14} split {'default' if split is None else split!s:8} "
                f"held out {' '.join(f'{score:.4f}' for score in found)}  "
                f"mean {np.mean(found):.4f}  goal {goal:.4f}  linear {linear:.4f}  "
                f"processor seconds {np.mean(seconds):.1f}",
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
    else:
        task = make_task(name, **({} if split is None else {"split_seed": split}))
        arguments = [name]
    assert isinstance(task, Supervised)
    return task, arguments + ([] if split is None else ["--set", f"task.split_seed={split}"])


def _options(changes: list[str], seed: int, out: Path) -> list[str]:
    settings = [word for change in changes for word in ("--set", change)]
    return ["--seed", str(seed), "--out", str(out), "--quiet", *settings]


def _run(arguments: list[str]) -> float:
    """Runs the command; returns the processor seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "evonet", "evolve", *arguments]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _held_out(run: Path) -> float:
    scores = json.loads((run / "results.json").read_text())["parts"]["held out"]["scores"]
    return float(scores.get("accuracy", scores.get("r2")))


def linear_score(task: Supervised) -> float:
    """The held-out score of a linear model that learns from all other examples."""
    from sklearn.linear_model import LogisticRegression, RidgeCV

    parts = task.parts()
    test = parts.pop("held out")
    x = np.concatenate([part.x for part in parts.values()])
    y = np.concatenate([part.y for part in parts.values()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if task.loss == "squared":
            return float(RidgeCV(np.logspace(-3, 3, 13)).fit(x, y).score(test.x, test.y))
        model = LogisticRegression(max_iter=300).fit(x, y.argmax(axis=1))
        return float(model.score(test.x, test.y.argmax(axis=1)))


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


if __name__ == "__main__":
    sys.exit(main())
