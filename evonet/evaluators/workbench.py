"""What a worker does with a piece, wherever the worker is."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Mapping
from typing import Any

import numpy as np

from evonet.errors import EvonetError, ShapeError
from evonet.evaluators.here import Here
from evonet.evaluators.jobs import Fault, Job, Piece
from evonet.evaluators.packing import STATE, Arrays, pack_evaluation, unpack_population
from evonet.tasks.base import Task


class Workbench:
    """Evaluates pieces by the code that a run without workers evaluates everything by."""

    def __init__(self, task: Task, options: Mapping[str, Any]) -> None:
        """Takes a task that has travelled here.

        Args:
            task: What scores networks.
            options: The other arguments of `Here`.
        """
        self._task = task
        self._here = Here(task, **options)

    def work(
        self, job: Job, piece: Piece, arrays: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Arrays]:
        """Evaluates a piece.

        Args:
            job: What is to be done.
            piece: For which genomes.
            arrays: What `cut_arrays` returned for them.

        Returns:
            Facts and arrays: those of `pack_evaluation`, or the "returns" of a re-test.
        """
        self._take_state(arrays)
        genomes = unpack_population(job.facts, arrays)
        index = np.arange(piece.start, piece.stop)
        if job.kind == "retest":
            returns = np.asarray(
                self._here.retest(
                    genomes, job.seed, piece.first_episode, piece.episodes, genome_index=index
                ),
                np.float64,
            )
            if returns.shape != (len(piece), piece.episodes):
                raise ShapeError(
                    f"returns must have shape {[len(piece), piece.episodes]}, one row per genome, "
                    f"found {list(returns.shape)}."
                )
            return {}, {"returns": returns}
        ids = arrays["ids"]
        found = self._here.evaluate(genomes, ids, job.seed, job.generation, genome_index=index)
        return pack_evaluation(found.checked(len(piece)))

    def _take_state(self, arrays: Mapping[str, Any]) -> None:
        state = {
            name.removeprefix(STATE): np.array(array)
            for name, array in arrays.items()
            if name.startswith(STATE)
        }
        if state or self._task.state:
            self._task.state = state


def describe_error(error: BaseException) -> Fault:
    """Describes what a task raised, in a form that reaches the driver whatever it was."""
    trace = "".join(traceback.format_exception(error))
    places = [
        place for place in traceback.extract_tb(error.__traceback__) if "-packages" not in place[0]
    ]
    text = " ".join(str(error).split())[:400]
    words = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if isinstance(error, EvonetError):
        try:
            pickle.loads(pickle.dumps(error))
            return Fault(words, error, trace)
        except Exception:  # errors of users may refuse
            return Fault(words, None, trace)
    if places:
        words += f" ({places[-1].filename}, line {places[-1].lineno})"
    return Fault(words, None, trace)
