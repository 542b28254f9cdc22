"""Callbacks: what happens around evolution, from a progress bar to checkpoints.

    def watch(record):                       # any function of a GenerationRecord will do
        print(record.generation, record.best)

    evolve(task, config, callbacks=[Progress(), CheckpointSaver("runs/xor"), watch])

A callback that returns True ends the run after this generation.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

from evonet.errors import CheckpointError, OptionError, check_whole
from evonet.evolution import checkpoint
from evonet.evolution.algorithm import Algorithm
from evonet.evolution.hooks import Callback, CallbackLike, Result, Run
from evonet.evolution.record import GenerationRecord
from evonet.evolution.state import Best
from evonet.files.generation_lines import GenerationLines
from evonet.messages import number
from evonet.network import compile_with

__all__ = [
    "Callback",
    "CallbackLike",
    "CheckpointSaver",
    "GenerationRecord",
    "MetricsWriter",
    "Progress",
    "Result",
    "Run",
    "StopAfter",
]


class CheckpointSaver(Callback):
    """Saves the state of the run, so that it can be resumed from the folder.

    A checkpoint means that its generation is done, so it is written when all other callbacks are
    through with that generation: a resumed run then repeats or skips nothing.
    """

    comes_last = True

    def __init__(
        self,
        folder: str | os.PathLike[str],
        every: int = 1,
        keep: int = 3,
        seconds: float = 0.0,
    ) -> None:
        """Saves nothing yet.

        Args:
            folder: Where checkpoints are; made if it is missing.
            every: Generations from one checkpoint to the next; the end of a run gets one anyway.
            keep: How many to keep.
            seconds: The least time from one checkpoint to the next, for runs whose generations
                are shorter than the writing of a file.

        Raises:
            OptionError: every or keep is less than 1.
        """
        self._folder = Path(folder)
        self._every = check_whole("every", every, 1)
        self._keep = check_whole("keep", keep, 1)
        self._seconds = seconds
        self._last_time = -math.inf
        self._seen = -1  # the last generation that all callbacks are through with
        self._saved: tuple[int, bool] | None = None  # the last state saved, and whether told

    def on_start(self, run: Run) -> None:
        """Makes sure that the folder is free, or holds this very run.

        Raises:
            CheckpointError: The folder holds checkpoints of another run.
        """
        self._seen, self._saved = run.first_generation - 1, None
        self._run = run
        found = checkpoint.list_checkpoints(self._folder)
        source = run.resumed_from
        if source is not None and source.parent.resolve() == self._folder.resolve():
            self._saved = _moment(run.algorithm)
            # Those behind are unreadable, or from before the run was set back.
            checkpoint.tidy_checkpoints(self._folder, run.algorithm.generation, self._keep)
        elif found:
            raise CheckpointError(
                f"{self._folder}: already holds {found[-1].name} of another run. Resume that run, "
                "or choose another folder."
            )

    def on_generation(self, record: GenerationRecord) -> None:
        """Saves, if it is time."""
        self._seen = record.generation
        rested = time.monotonic() - self._last_time >= self._seconds
        if (record.generation + 1) % self._every == 0 and rested:
            self._save()

    def on_end(self, result: Result) -> None:
        """Saves what is new since the last time."""
        generation, told = now = _moment(result.algorithm)
        # Interrupted between `tell` and here, some callback has not seen this generation yet.
        if now != self._saved and generation - (not told) == self._seen and self._seen >= 0:
            self._save()

    def _save(self) -> None:
        algorithm = self._run.algorithm
        checkpoint.save_checkpoint(algorithm, self._folder, self._keep, self._run.task.state)
        self._saved = _moment(algorithm)
        self._last_time = time.monotonic()


def _moment(algorithm: Algorithm) -> tuple[int, bool]:
    return algorithm.generation, algorithm.state.fitness is not None


class MetricsWriter(Callback):
    """Writes one JSON object per generation and line, as `GenerationRecord.to_dict` gives it.

    A new run starts a new file; a resumed run drops the lines of generations that it repeats, and
    continues after the others.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Opens nothing yet.

        Args:
            path: The file, usually metrics.jsonl.
        """
        self._lines = GenerationLines(path)

    def on_generation(self, record: GenerationRecord) -> None:
        """Writes a line that other programs see at once."""
        # Begun only now, so that a run that cannot even start leaves the old file alone.
        self._lines.begin(record.generation)
        self._lines.write(record.to_dict())

    def on_end(self, result: Result) -> None:
        """Closes the file."""
        self._lines.close()


class Progress(Callback):
    """Shows a progress bar with fitness, species, speed and the time that is left.

    A file or a pipe gets a plain line now and then instead. A generation that takes long shows
    for how long it has been at work.
    """

    def __init__(self, file: TextIO | None = None, seconds: float = 10.0) -> None:
        """Shows nothing yet.

        Args:
            file: Where to; None for the standard error.
            seconds: The least time from one plain line to the next, where there is no terminal.
        """
        self._file = file
        self._seconds = seconds
        self._bar: Any = None
        self._scored: Best | None = None
        self._pulse: threading.Thread | None = None
        self._over = threading.Event()

    def on_start(self, run: Run) -> None:
        """Draws the bar, if there is a terminal."""
        from tqdm import tqdm

        self._run = run
        self._scores, self._scored_at = "", -math.inf
        self._total = run.generations
        self._last_time = self._since = time.monotonic()
        self._state, self._generation = "", run.first_generation
        stream = self._file or sys.stderr
        if stream.isatty():
            self._bar = self._draw_bar(tqdm, run)
        self._over.clear()
        self._pulse = threading.Thread(target=self._show_life, name="progress", daemon=True)
        self._pulse.start()

    def _draw_bar(self, tqdm: Any, run: Run) -> Any:
        return tqdm(
            total=run.generations,
            initial=run.first_generation,
            unit="gen",
            file=self._file,
            dynamic_ncols=True,
            # Short enough for all of it to fit into 80 columns.
            bar_format="{n_fmt}/{total_fmt} {bar} {remaining} left{postfix}",
        )

    def on_generation(self, record: GenerationRecord) -> None:
        """Moves the bar on, or writes a line if it is time."""
        from tqdm import tqdm

        self._generation, self._since = record.generation + 1, time.monotonic()
        summary = f"{record.summary}, " if record.summary else ""
        rate = tqdm.format_sizeof(record.evaluations_per_second)
        if self._bar is None and time.monotonic() - self._last_time < self._seconds:
            return
        spread = "" if record.tested is None else f" ± {record.tested.half_width:.2g}"
        middle = self._describe_scores() or f"mean {number(record.mean, 4)}"
        state = f"best {number(record.best_so_far)}{spread}, {middle}, {summary}{rate} evals/s"
        if record.workers:
            state += f", {len(record.workers)} workers {record.busy:.0%} busy"
        self._state = state
        if self._bar is not None:
            self._bar.set_postfix_str(state, refresh=False)
            self._bar.update()
        else:
            self._last_time = time.monotonic()
            line = f"{record.generation + 1}/{self._total} {state}"
            print(line, file=self._file or sys.stderr, flush=True)

    def _describe_scores(self) -> str:
        """Names the champion's scores on parts of the examples; new ones once a second."""
        best, now = self._run.algorithm.best, time.monotonic()
        if best is None or best is self._scored or now - self._scored_at < 1:
            return self._scores
        network = compile_with(best.population, self._run.algorithm.config.dynamics)
        parts = self._run.task.part_scores(network)
        shown = []
        for part in ("train", "held out"):
            for name, score in list(parts.get(part, {}).items())[-1:]:
                shown.append(f"{name if part == 'train' else part} {score[0]:.4f}")
        if (claim := self._run.task.claim(network)) is not None:
            shown[-1] += f" ± {claim.half_width:.2g}"
        self._scores, self._scored, self._scored_at = ", ".join(shown), best, now
        return self._scores

    def _show_life(self) -> None:
        """Reports now and then on a generation that takes long, from a thread of its own."""
        patience = self._seconds or 10.0
        if self._bar is not None:
            patience = min(patience, 2.0)
        while not self._over.wait(min(patience, 1.0)):
            passed = time.monotonic() - self._since
            if passed < patience or self._generation >= self._total:
                continue
            words = f"generation {self._generation}: {passed:,.0f} s so far"
            evaluator = self._run.evaluator
            done = None if evaluator is None else evaluator.progress
            if done is not None:
                words += f", {done[0]:,} of {done[1]:,} done"
            if self._bar is not None:
                self._bar.set_postfix_str(", ".join(filter(None, (self._state, words))))
            elif time.monotonic() - self._last_time >= self._seconds:
                self._last_time = time.monotonic()
                line = f"{self._generation}/{self._total} {words}"
                print(line, file=self._file or sys.stderr, flush=True)

    def on_end(self, result: Result) -> None:
        """Leaves the bar as it is."""
        self._over.set()
        if self._pulse is not None:
            self._pulse.join()
        if self._bar is not None:
            self._bar.close()


class StopAfter(Callback):
    """Ends a run by other limits than its number of generations."""

    def __init__(
        self,
        *,
        seconds: float | None = None,
        evaluations: int | None = None,
        without_improvement: int | None = None,
    ) -> None:
        """Sets the limits, each of which ends the run.

        Args:
            seconds: Time since the run started or was resumed.
            evaluations: Genomes evaluated, those before a resumption included.
            without_improvement: Generations in a row without a new best genome.

        Raises:
            OptionError: There is no limit, or one is not above 0.
        """
        limits = [seconds, evaluations, without_improvement]
        given = [limit for limit in limits if limit is not None]
        if not given or not all(limit > 0 for limit in given):
            raise OptionError(
                f"StopAfter(seconds={seconds}, evaluations={evaluations}, "
                f"without_improvement={without_improvement}) needs a limit, and each above 0."
            )
        self._limits = limits
        self._started = 0.0

    def on_start(self, run: Run) -> None:
        """Starts the clock."""
        self._started = time.monotonic()

    def on_generation(self, record: GenerationRecord) -> bool:
        """Ends the run if a limit is reached."""
        reached = (
            time.monotonic() - self._started,
            record.evaluations,
            record.generation - record.best_generation,
        )
        return any(
            limit is not None and value >= limit
            for value, limit in zip(reached, self._limits, strict=True)
        )
