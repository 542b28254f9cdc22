"""What every evaluator offers, wherever it does its work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from evonet.evaluation import Evaluation
from evonet.evaluators.jobs import WorkerRate
from evonet.genes.population import Population


class Evaluator(Protocol):
    """Scores populations by one task.

    Attributes:
        spent: Seconds in all, by phase: "compile" and "evaluate".
    """

    spent: dict[str, float]

    @property
    def notes(self) -> Sequence[str]:
        """Lines about where genomes are evaluated, which the command line prints."""

    @property
    def rates(self) -> Sequence[WorkerRate]:
        """What each worker did in the last generation; empty without workers."""

    @property
    def progress(self) -> tuple[int, int] | None:
        """How much of the current job is done, and how much there is; None if that is unknown."""

    def evaluate(
        self, population: Population, ids: npt.NDArray[np.int64], seed: int, generation: int
    ) -> Evaluation:
        """Decodes, compiles and scores a population.

        Args:
            population: [P] genomes.
            ids: [P] number of each genome in the run.
            seed: The seed for the chance in the task.
            generation: The generation that is scored.
        """

    def retest(
        self, genomes: Population, seed: int, first_episode: int, episodes: int
    ) -> npt.NDArray[np.float64]:
        """Lets a few genomes play more episodes than those that their fitness is made of.

        Args:
            genomes: [G] genomes.
            seed: The seed for the chance in the task.
            first_episode: Number of the first episode.
            episodes: E, how many episodes each genome plays.

        Returns:
            [G, E] the return of every episode.

        Raises:
            OptionError: The task has no episodes.
        """

    def close(self) -> None:
        """Ends everything that was started to evaluate."""
