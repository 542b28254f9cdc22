"""The [run] table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evonet.config.rules import NOT_NEGATIVE, OneOf, OneOfOrImport, Whole
from evonet.config.schema import Schema, setting
from evonet.definitions.algorithms import ALGORITHM_NAMES
from evonet.definitions.backends import BACKEND_NAMES, BackendName
from evonet.errors import MOST_SEED, MOST_THREADS


@dataclass(frozen=True, slots=True)
class RunTable(Schema):
    """How a run is carried out.

    Attributes:
        generations: The most generations to run.
        minutes: End the run when it has taken this long since it started or was resumed, after the
            generation that is being evaluated; 0 never does.
        patience: End the run when there was no better genome for this many generations; 0 never
            does. Where a task has a validation part, that decides what is better.
        seed: Fixes all random numbers, 0 to 2^64 - 1.
        backend: Where networks run; "auto" takes the fastest that works.
        threads: CPU threads; 0 takes all.
        algorithm: What evolves networks: "neat", or "module:Class" or "file.py:Class" for your own
            algorithm.
        on_bad_fitness: What to do about a fitness that is not a finite number: "error" ends the
            run, "worst" counts it as the worst of its generation.
    """

    generations: int = setting(Whole(0), 300)
    minutes: float = setting(NOT_NEGATIVE, 0.0)
    patience: int = setting(Whole(0), 0)
    seed: int = setting(Whole(0, MOST_SEED), 0)
    backend: BackendName = setting(OneOf(*BACKEND_NAMES), "auto")
    threads: int = setting(Whole(0, MOST_THREADS), 0)
    algorithm: str = setting(OneOfOrImport(*ALGORITHM_NAMES), "neat")
    on_bad_fitness: Literal["error", "worst"] = setting(OneOf("error", "worst"), "error")
