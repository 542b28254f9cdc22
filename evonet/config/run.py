"""The [run] table."""

from __future__ import annotations

from dataclasses import dataclass

from evonet.config.rules import OneOf, OneOfOrImport, Whole
from evonet.config.schema import Schema, setting
from evonet.definitions.algorithms import ALGORITHM_NAMES
from evonet.definitions.backends import BACKEND_NAMES, BackendName
from evonet.errors import MOST_SEED, MOST_THREADS


@dataclass(frozen=True, slots=True)
class RunTable(Schema):
    """How a run is carried out.

    Attributes:
        generations: The most generations to run.
        seed: Fixes all random numbers, 0 to 2^64 - 1.
        backend: Where networks run; "auto" takes the fastest that works.
        threads: CPU threads; 0 takes all.
        algorithm: What evolves networks: "neat", or "module:Class" or "file.py:Class" for your own
            algorithm.
    """

    generations: int = setting(Whole(0), 300)
    seed: int = setting(Whole(0, MOST_SEED), 0)
    backend: BackendName = setting(OneOf(*BACKEND_NAMES), "auto")
    threads: int = setting(Whole(0, MOST_THREADS), 0)
    algorithm: str = setting(OneOfOrImport(*ALGORITHM_NAMES), "neat")
