"""Evaluates by workers: cuts populations into pieces, and joins what comes back, in order."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.errors import WorkerError
from evonet.evaluation import Evaluation, OnBadFitness
from evonet.evaluators.crew import Crew
from evonet.evaluators.dispatch import Dispatch
from evonet.evaluators.jobs import Event, Fault, Job, Piece, WorkerRate
from evonet.evaluators.packing import (
    STATE,
    join_evaluations,
    pack_population,
    unpack_evaluation,
)
from evonet.evaluators.planning import Plan, expected_costs
from evonet.genes.population import Population
from evonet.tasks.base import Task


class Distributed:
    """Decodes, compiles and scores in workers; see `Evaluator`.

    A genome that fails on its own, on several workers, has the fitness NaN, about which
    `on_bad_fitness` decides: "error" ends the run with what happened, "worst" counts it as the
    worst of its generation.

    Attributes:
        spent: Seconds in all, by phase.
        rates: What each worker did in the last generation.
        crew: The workers.
    """

    def __init__(
        self,
        task: Task,
        crew: Crew,
        *,
        timeout: float = 0.0,
        retries: int = 2,
        on_bad_fitness: OnBadFitness = "error",
    ) -> None:
        """Takes workers that have the task.

        Args:
            task: The driver's own copy of the task, which keeps its state.
            crew: The workers.
            timeout: Seconds that a genome may take; 0 for no limit.
            retries: How often a genome that failed on its own is tried again.
            on_bad_fitness: What to do about a genome that cannot be evaluated.
        """
        self.spent = {"compile": 0.0, "evaluate": 0.0}
        self.rates: list[WorkerRate] = []
        self.crew = crew
        self._task = task
        self._on_bad_fitness = on_bad_fitness
        self._dispatch = Dispatch(crew, timeout=timeout, retries=retries)

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines about the workers, which the command line prints."""
        return self.crew.notes

    @property
    def progress(self) -> tuple[int, int]:
        """How many genomes of the current job are done, and how many there are."""
        return self._dispatch.done, self._dispatch.total

    def evaluate(
        self, population: Population, ids: npt.NDArray[np.int64], seed: int, generation: int
    ) -> Evaluation:
        """Scores a population, in parts; see `Evaluator`.

        Raises:
            WorkerError: A genome cannot be evaluated, and on_bad_fitness is "error"; or workers
                cannot start.
            EvonetError: What the task raised, likewise.
        """
        start = time.perf_counter()
        state = self._task.state
        facts, arrays = pack_population(population)
        arrays["ids"] = np.asarray(ids, np.int64)
        arrays |= {f"{STATE}{name}": np.asarray(array) for name, array in state.items()}
        self.crew.begin(Job("score", seed, generation, facts), arrays)
        parts: dict[int, tuple[Piece, Evaluation | None]] = {}
        first: list[Fault] = []

        def on_done(piece: Piece, event: Event) -> None:
            parts[piece.start] = piece, unpack_evaluation(event.facts, event.arrays)

        def on_failed(piece: Piece, fault: Fault) -> None:
            if self._on_bad_fitness == "error":
                raise _blame(piece, ids, fault)
            first.append(fault)
            parts[piece.start] = piece, None

        plan = Plan(expected_costs(population), splits=self._task.splits)
        self._dispatch.run(plan, on_done, on_failed)
        self.rates = self._dispatch.rates
        found = [parts[i] for i in sorted(parts)]
        if all(part is None for _, part in found):
            raise WorkerError(f"no genome could be evaluated: {first[0].words}.")
        joined = join_evaluations(
            [(population[piece.start : piece.stop], part) for piece, part in found], state
        )
        self.spent["evaluate"] += time.perf_counter() - start
        return joined

    def retest(
        self, genomes: Population, seed: int, first_episode: int, episodes: int
    ) -> npt.NDArray[np.float64]:
        """Plays more episodes with a few genomes, in parts; see `Evaluator`."""
        start = time.perf_counter()
        facts, arrays = pack_population(genomes)
        state: dict[str, Any] = self._task.state
        arrays |= {f"{STATE}{name}": np.asarray(array) for name, array in state.items()}
        self.crew.begin(Job("retest", seed, 0, facts), arrays)
        returns = np.full((len(genomes), episodes), np.nan)

        def place(piece: Piece) -> tuple[slice, slice]:
            first = piece.first_episode - first_episode
            return slice(piece.start, piece.stop), slice(first, first + piece.episodes)

        def on_done(piece: Piece, event: Event) -> None:
            returns[place(piece)] = event.arrays["returns"]

        def on_failed(piece: Piece, fault: Fault) -> None:
            if self._on_bad_fitness == "error":
                raise _blame(piece, None, fault)

        plan = Plan(expected_costs(genomes), (first_episode, episodes))
        if plan.total:
            self._dispatch.run(plan, on_done, on_failed)
        self.spent["evaluate"] += time.perf_counter() - start
        return returns

    def close(self) -> None:
        """Ends all workers at once."""
        self.crew.close()


def _blame(piece: Piece, ids: npt.NDArray[np.int64] | None, fault: Fault) -> Exception:
    """The error about a genome that failed wherever it was tried."""
    if fault.error is not None:
        return fault.error
    who = f"genome {piece.start}"
    if ids is not None:
        who += f" (id {ids[piece.start]})"
    if len(piece) > 1:
        who = f"all {len(piece)} genomes, which this task scores together,"
    error = WorkerError(
        f'{who} could not be evaluated: {fault.words}. run.on_bad_fitness = "worst" counts such '
        "genomes as the worst of their generation."
    )
    if fault.trace:
        error.add_note(f"In the worker:\n{fault.trace}")
    return error
