"""The options that all ways to make a `BatchEvaluator` share."""

from __future__ import annotations

from typing import TypedDict

import numpy.typing as npt


class EvaluatorOptions(TypedDict, total=False):
    """What `BatchEvaluator` takes beside its score; it says what each one means."""

    kind: str
    exact: bool | None
    dtype: npt.DTypeLike
    backend: str
    threads: int
    time_step: float | None
    steps: int
    reuse_fitness: bool
    seed: int
