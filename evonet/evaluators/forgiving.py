"""What a run without workers does about a task that raises, if bad genomes count as the worst.

The whole population is scored at once, as always. Only if that fails, it is scored again in parts,
as workers would do it, so that a run has the same champion with and without workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.errors import WorkerError
from evonet.evaluation import Evaluation
from evonet.evaluators.distributed import Distributed
from evonet.evaluators.here import Here
from evonet.evaluators.jobs import Event, Job, Piece, WorkerRate
from evonet.evaluators.packing import Arrays, cut_arrays
from evonet.evaluators.workbench import Workbench, describe_error
from evonet.genes.population import Population
from evonet.tasks.base import Task


class HereCrew:
    """This process as the only worker of a crew; see `Crew`."""

    notes: tuple[str, ...] = ()

    def __init__(self, task: Task, options: Mapping[str, Any]) -> None:
        """Takes the arguments of `Here`."""
        self._bench = Workbench(task, options)
        self._job: tuple[Job, Arrays] | None = None
        self._events = [Event(0, "ready")]

    def __len__(self) -> int:
        return 1

    def name(self, worker: int) -> str:
        """Its number."""
        return str(worker)

    def begin(self, job: Job, arrays: Arrays) -> None:
        """Keeps what pieces are cut from; see `Crew`."""
        self._job = job, arrays

    def submit(self, worker: int, token: int, piece: Piece) -> None:
        """Evaluates a piece at once; see `Crew`."""
        assert self._job is not None
        job, arrays = self._job
        try:
            found = self._bench.work(job, piece, cut_arrays(arrays, piece.start, piece.stop))
            self._events.append(Event(worker, "done", token, *found))
        except Exception as error:  # tasks may raise anything
            self._events.append(Event(worker, "failed", token, fault=describe_error(error)))

    def wait(self, seconds: float | None) -> list[Event]:
        """Returns all that has happened; see `Crew`."""
        events, self._events = self._events, []
        return events

    def replace(self, worker: int) -> None:
        """Does nothing: this process cannot be replaced."""

    def close(self) -> None:
        """Does nothing: all that was used is the process's own."""


class Forgiving:
    """Scores in this process; genomes for which the task raises have the fitness NaN.

    Attributes:
        spent: Seconds in all, by phase.
    """

    def __init__(self, task: Task, options: Mapping[str, Any], retries: int) -> None:
        """Takes a task.

        Args:
            task: What scores networks.
            options: The other arguments of `Here`.
            retries: How often a genome that failed on its own is tried again.
        """
        self._here = Here(task, **options)
        crew = HereCrew(task, options)
        self._parts = Distributed(task, crew, retries=retries, on_bad_fitness="worst")
        self.spent = self._here.spent

    @property
    def notes(self) -> Sequence[str]:
        """Empty: there is nothing to say about this process."""
        return self._here.notes

    @property
    def rates(self) -> Sequence[WorkerRate]:
        """Empty: there are no workers."""
        return self._here.rates

    @property
    def progress(self) -> tuple[int, int] | None:
        """None: whole populations are scored at once."""
        return self._here.progress

    def evaluate(
        self, population: Population, ids: npt.NDArray[np.int64], seed: int, generation: int
    ) -> Evaluation:
        """Scores a population, in parts if it fails as a whole; see `Evaluator`.

        Raises:
            Exception: What the task raised, if it does so for every genome.
        """
        try:
            return self._here.evaluate(population, ids, seed, generation)
        except Exception as error:  # tasks may raise anything
            try:
                return self._parts.evaluate(population, ids, seed, generation)
            except WorkerError:
                raise error from None

    def retest(
        self, genomes: Population, seed: int, first_episode: int, episodes: int
    ) -> npt.NDArray[np.float64]:
        """Plays more episodes with a few genomes; see `Evaluator` and `evaluate`."""
        try:
            return self._here.retest(genomes, seed, first_episode, episodes)
        except Exception as error:  # tasks may raise anything
            try:
                return self._parts.retest(genomes, seed, first_episode, episodes)
            except WorkerError:
                raise error from None

    def close(self) -> None:
        """Does nothing: all that was used is the process's own."""
