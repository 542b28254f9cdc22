"""Evolution that keeps all there is to know about it in a folder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from evonet.atomic_file import open_atomic
from evonet.champion import save_champion
from evonet.checkpoint import list_checkpoints
from evonet.config import Config
from evonet.evolution.callbacks import CheckpointSaver, MetricsWriter
from evonet.evolution.hooks import Callback, CallbackLike, Result, Run
from evonet.evolution.loop import evolve
from evonet.evolution.neat import NEAT, Best
from evonet.evolution.record import GenerationRecord
from evonet.run.folder import RunFolder
from evonet.run.improvements import ImprovementWriter
from evonet.tasks.base import Task

# What a kill may cost, in seconds of work that is done again.
SAVING_EVERY = 2.0


def start_run(
    folder: str | os.PathLike[str],
    task: Task,
    config: Config,
    callbacks: Iterable[CallbackLike] = (),
) -> Result:
    """Evolves, and keeps config, metrics, checkpoints and champion in a folder.

    Args:
        folder: The folder of this run alone; made if it is missing.
        task: What to evolve on.
        config: All settings.
        callbacks: More of them, as for `evolve`.

    Raises:
        RunFolderError: The folder holds a run already, or another process works on it.
        EvonetError: As `evolve` raises it.
        OSError: The disk or the folder does not take it. What was kept before is still there.
    """
    home = RunFolder(folder)
    home.create()
    with home.locked():
        return evolve(task, config, callbacks=[*_keepers(home), *callbacks])


def resume_run(
    folder: str | os.PathLike[str],
    task: Task,
    config: Config | None = None,
    callbacks: Iterable[CallbackLike] = (),
    fork: bool = False,
) -> Result:
    """Goes on with a run; it ends with the bits of one that was never interrupted.

    A run that was killed before its first checkpoint begins again.

    Args:
        folder: The folder of the run.
        task: What the run began with.
        config: What to go on with; None for the folder's config.toml.
        callbacks: More of them, as for `evolve`.
        fork: Whether to go on with another config than before, on purpose.

    Raises:
        RunFolderError: The folder holds no run, or another process works on it.
        CheckpointError: No checkpoint can be read, or the config has changed.
        EvonetError: As `evolve` raises it.
        OSError: The disk or the folder does not take it. What was kept before is still there.
    """
    home = RunFolder(folder)
    home.check()
    with home.locked():
        return evolve(
            task,
            Config.load(home.config) if config is None else config,
            callbacks=[*_keepers(home), *callbacks],
            resume=home.checkpoints if list_checkpoints(home.checkpoints) else None,
            fork=fork,
        )


def _keepers(home: RunFolder) -> list[Callback]:
    return [
        ConfigWriter(home.config),
        MetricsWriter(home.metrics),
        ImprovementWriter(home.improvements),
        ChampionWriter(home.champion, seconds=SAVING_EVERY),
        CheckpointSaver(home.checkpoints, seconds=SAVING_EVERY),
    ]


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
        with open_atomic(self._path) as file:
            file.write(run.neat.config.to_toml().encode())


class ChampionWriter(Callback):
    """Writes the best genome now and then, and at the end."""

    def __init__(self, path: str | os.PathLike[str], seconds: float = 0.0) -> None:
        """Writes nothing yet.

        Args:
            path: The file, usually champion.json.
            seconds: The least time from one champion to the next, except at the end.
        """
        self._path = path
        self._seconds = seconds
        self._time = 0.0
        self._written: Best | None = None

    def on_start(self, run: Run) -> None:
        """Starts the clock."""
        self._neat = run.neat
        self._name = run.neat.config.task.get("name")
        self._time = time.monotonic()

    def on_generation(self, record: GenerationRecord) -> None:
        """Writes a new champion, if the last one has been there for a while."""
        if time.monotonic() - self._time >= self._seconds:
            self._write(self._neat)

    def on_end(self, result: Result) -> None:
        """Writes the champion."""
        self._write(result.neat)

    def _write(self, neat: NEAT) -> None:
        if neat.best is None or neat.best is self._written:
            return
        save_champion(
            self._path,
            neat.best,
            neat.config,
            seed=neat.seed,
            kind="feedforward" if neat.config.genome.feed_forward else "recurrent",
            metadata={"task": self._name} if isinstance(self._name, str) else None,
        )
        self._written, self._time = neat.best, time.monotonic()
