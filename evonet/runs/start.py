"""Runs: evolution that keeps all there is to know about it in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable

from evonet.config import Config
from evonet.errors import CheckpointError, FileFormatError
from evonet.evolution.algorithm import Algorithm
from evonet.evolution.callbacks import CheckpointSaver, MetricsWriter
from evonet.evolution.checkpoint import list_checkpoints
from evonet.evolution.hooks import Callback, CallbackLike, Result
from evonet.files.generation_lines import goes_beyond
from evonet.runs.champion import read_champion
from evonet.runs.folder import RunFolder
from evonet.runs.improvements import ImprovementWriter
from evonet.runs.loop import evolve
from evonet.runs.writers import ChampionWriter, ConfigWriter
from evonet.tasks.base import Task

# What a kill may cost, in seconds of work that is done again.
SAVING_EVERY = 2.0


def start_run(
    folder: str | os.PathLike[str],
    task: Task,
    config: Config,
    callbacks: Iterable[CallbackLike] = (),
    algorithm: type[Algorithm] | None = None,
) -> Result:
    """Evolves, and keeps config, metrics, checkpoints and champion in a folder.

    Args:
        folder: The folder of this run alone; made if it is missing.
        task: What to evolve on.
        config: All settings.
        callbacks: More of them, as for `evolve`.
        algorithm: What evolves; None for the one that the config's run.algorithm names.

    Raises:
        RunFolderError: The folder holds a run already, or another process works on it.
        EvonetError: As `evolve` raises it.
        OSError: The disk or the folder does not take it. What was kept before is still there.
    """
    home = RunFolder(folder)
    made = home.create()
    try:
        with home.locked():
            return evolve(
                task, config, callbacks=[*_keepers(home), *callbacks], algorithm=algorithm
            )
    except BaseException as error:
        if made:  # a folder in which a generation was done stays
            home.discard(error)
        raise


def resume_run(
    folder: str | os.PathLike[str],
    task: Task,
    config: Config | None = None,
    callbacks: Iterable[CallbackLike] = (),
    fork: bool = False,
    algorithm: type[Algorithm] | None = None,
) -> Result:
    """Resumes a run; it ends with the bits of one that was never interrupted.

    A run that was killed before its first checkpoint starts again. One whose checkpoints are gone
    is refused, and stays as it is.

    Args:
        folder: The folder of the run.
        task: What the run started with.
        config: What to continue with; None for the folder's config.toml.
        callbacks: More of them, as for `evolve`.
        fork: Whether to continue with another config than before, on purpose.
        algorithm: As for `start_run`.

    Raises:
        RunFolderError: The folder holds no run, or another process works on it.
        CheckpointError: Checkpoints are missing or cannot be read, or the config has changed.
        EvonetError: As `evolve` raises it.
        OSError: The disk or the folder does not take it. What was kept before is still there.
    """
    home = RunFolder(folder)
    home.check()
    with home.locked():
        saved = bool(list_checkpoints(home.checkpoints))
        if not saved:
            _check_unsaved(home)
        return evolve(
            task,
            Config.load(home.config) if config is None else config,
            callbacks=[*_keepers(home), *callbacks],
            resume=home.checkpoints if saved else None,
            fork=fork,
            algorithm=algorithm,
        )


def _check_unsaved(home: RunFolder) -> None:
    """Raises if a run without checkpoints has done more than its first generation.

    The first checkpoint is written at the end of generation 0, so one that got further has lost
    its checkpoints; to start it again would overwrite what is left of it.
    """
    lines = (home.metrics, home.improvements)
    left = [path.name for path in lines if goes_beyond(path, 0)]
    if home.champion.is_file():
        try:
            generation = read_champion(home.champion).generation
        except FileFormatError:
            generation = None
        if generation != 0:
            left.append(home.champion.name)
    if left:
        raise CheckpointError(
            f"{home.checkpoints}: holds no checkpoints, although {left[0]} shows that there were "
            "some. If they were moved, put them back; if they are on another disk, mount it. To "
            f"start again from generation 0, evolve {home.config} into another folder."
        )


def _keepers(home: RunFolder) -> list[Callback]:
    return [
        ConfigWriter(home.config),
        MetricsWriter(home.metrics),
        ImprovementWriter(home.improvements),
        ChampionWriter(home.champion, seconds=SAVING_EVERY),
        CheckpointSaver(home.checkpoints, seconds=SAVING_EVERY),
    ]
