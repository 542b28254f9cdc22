"""What a run writes beside metrics and checkpoints: its settings and its best genome."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path

from evonet.evolution.hooks import Callback, Result, Run
from evonet.evolution.record import GenerationRecord
from evonet.evolution.state import Best
from evonet.files.atomic import open_atomic, resolve_inside
from evonet.network import compile_with
from evonet.runs.champion import save_champion
from evonet.runs.champion_notes import note_champion


class ConfigWriter(Callback):
    """Writes all settings of a run, as soon as they are known to fit the task."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Writes nothing yet.

        Args:
            path: The file, usually config.toml.
        """
        self._path = path

    def on_start(self, run: Run) -> None:
        """Writes the file."""
        with open_atomic(resolve_inside(self._path)) as file:
            file.write(run.algorithm.config.to_toml().encode())


class ChampionWriter(Callback):
    """Writes the best genome now and then, and at the end; and results.json, what it answers."""

    def __init__(self, path: str | os.PathLike[str], seconds: float = 0.0) -> None:
        """Writes nothing yet.

        Args:
            path: The file, usually champion.json.
            seconds: The least time from one champion to the next, except at the end.
        """
        self._path = path
        self._seconds = seconds
        self._time = -math.inf
        self._written: Best | None = None

    def on_start(self, run: Run) -> None:
        """Looks where the run is."""
        self._run = run

    def on_generation(self, record: GenerationRecord) -> None:
        """Writes a new champion, if the last one has been there for a while."""
        if time.monotonic() - self._time >= self._seconds:
            self._write()

    def on_end(self, result: Result) -> None:
        """Writes the champion."""
        self._write()

    def _write(self) -> None:
        algorithm, best = self._run.algorithm, self._run.algorithm.best
        if best is None or best is self._written:
            return
        config = algorithm.config
        task, name = self._run.task, config.task.get("name")
        notes = note_champion(task, name, best.population, config.dynamics)
        save_champion(
            resolve_inside(self._path),
            best,
            config,
            seed=algorithm.seed,
            metadata=notes,
            encoding=task.encoding,
        )
        results = task.results(compile_with(best.population, config.dynamics))
        if results is not None:
            document = {"task": name, "generation": best.generation, "id": best.id, **results}
            if best.curves:
                document["learning"] = {n: list(row) for n, row in best.curves.items()}
            path = Path(self._path).with_name("results.json")
            with open_atomic(resolve_inside(path)) as file:
                file.write(json.dumps(document).encode() + b"\n")
        self._written, self._time = best, time.monotonic()
