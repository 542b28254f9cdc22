"""What champions answered: results.json that was edited, cut or is extreme, drawn into a page."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

import evonet
from evonet.report.results import draw_results
from evonet.tasks.registry import make_task
from evonet.tasks.tabular import classification, regression
from tests.campaigns.hostile.hostile_values import damage, spoil
from tests.campaigns.hostile.watch import Input

SHARE: Final = 6


def attack(rng: random.Random, folder: Path) -> Input:
    """Writes hostile results, and draws them."""
    found = rng.choice(good_results())
    if rng.random() < 0.25:
        data = damage(json.dumps(found).encode(), rng)
    else:
        data = json.dumps(spoil(found, rng, rng.choice((1, 1, 2, 5)))).encode()
    path = folder / "results.json"
    path.write_bytes(data)
    return lambda: draw_results(path)


def prepare() -> None:
    """Makes the results that are spoilt."""
    good_results()


@cache
def good_results() -> list[Any]:
    """A truth table, a confusion matrix and two scatters."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(30, 2))
    tasks = (
        make_task("xor"),
        classification(data=(x, (x[:, 0] > 0).astype(int)), test_fraction=0.2),
        regression(data=(x, x), test_fraction=0.2),
    )
    found = []
    for task in tasks:
        one = evonet.Population.random(
            1, task.num_inputs, task.num_outputs, num_nodes=4, num_connections=6
        )
        found.append(json.loads(json.dumps(task.results(evonet.compile(one)))))
    return found
