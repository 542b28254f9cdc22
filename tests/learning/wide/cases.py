"""Small wide levels, and all that they consist of, for comparisons of backends."""

from __future__ import annotations

from typing import Any

import numpy as np

from evonet.backends.wide_level import Lists
from evonet.learning.wide.training import Batch, WideModel, WideSettings

SMALL: dict[str, Any] = {
    "num_inputs": 40,
    "num_classes": 300,
    "hidden": 20,
    "hash": "simhash",
    "bits": 5,
    "tables": 6,
    "capacity": 8,
    "keep": "reservoir",
    "limit": 20,
    "shared": 5,
    "minimum": 16,
    "rebuild": 2,
    "growth": 1.5,
    "rate": 0.01,
    "beta1": 0.9,
    "beta2": 0.999,
    "epsilon": 1e-8,
    "input_scale": 1.0,
    "seed": 7,
}
KINDS = ({"hash": "simhash", "bits": 5}, {"hash": "dwta", "bits": 6})


def settings(**changes: Any) -> WideSettings:
    return WideSettings(**{**SMALL, **changes})


def make_batch(chosen: WideSettings, count: int, rng: np.random.Generator) -> Batch:
    """Random samples of 6 inputs and up to 3 labels; some have none."""
    rows = [np.sort(rng.choice(chosen.num_inputs, 6, replace=False)) for _ in range(count)]
    labels = [
        np.sort(rng.choice(chosen.num_classes, rng.integers(0, 4), replace=False))
        for _ in range(count)
    ]
    begin = 6 * np.arange(count, dtype=np.int64)
    lists = Lists(begin, begin + 6, np.concatenate(rows).astype(np.int32))
    values = rng.normal(size=6 * count).astype(np.float32)
    start = np.concatenate([[0], np.cumsum([len(each) for each in labels])]).astype(np.int64)
    return Batch(lists, values, None, start, np.concatenate(labels).astype(np.int32))


def contents(model: WideModel) -> dict[str, bytes]:
    """Everything that training changes, as bytes; what buckets do not keep is left out."""
    found: dict[str, bytes] = {}
    for name in ("inputs", "outputs"):
        level = getattr(model, name)
        for part in ("weights", "mean", "square", "state") if level is not None else ():
            found[f"{name}.{part}"] = model.kernels.get(getattr(level, part)).tobytes()
    tables = model.tables
    starts, ids = model.kernels.get(tables.starts), model.kernels.get(tables.ids)
    found["starts"] = starts.tobytes()
    kept = [ids[table, : starts[table, -1]] for table in range(len(starts))]
    found["ids"] = b"".join(each.tobytes() for each in kept)
    return found


def train(model: WideModel, batches: int = 6, count: int = 9, seed: int = 1) -> list[bytes]:
    """The losses and hits of some batches."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(batches):
        result = model.train(make_batch(model.settings, count, rng))
        found += [result.loss.tobytes(), result.hit.tobytes()]
    return found
