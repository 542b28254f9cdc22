"""The folder of checkpoints: saving, listing, tidying up, and opening the newest."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Container, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from numpy.typing import NDArray

from evonet.config import Config
from evonet.errors import CheckpointError, check_whole
from evonet.evaluation import OnBadFitness
from evonet.evolution.checkpoint.file import Checkpoint, read_checkpoint, write_checkpoint
from evonet.evolution.checkpoint.restore import restore
from evonet.files.atomic import remove_leftovers, resolve_inside

if TYPE_CHECKING:
    from evonet.evolution.algorithm import Algorithm

SomeAlgorithm = TypeVar("SomeAlgorithm", bound="Algorithm")

NAME: Final = re.compile(r"checkpoint-([0-9]{6,})\.safetensors")


def save_checkpoint(
    algorithm: Algorithm,
    folder: str | os.PathLike[str],
    keep: int = 3,
    task_state: Mapping[str, NDArray[Any]] | None = None,
) -> Path:
    """Writes the state of a run, which stays as it is, and keeps the last few.

    The folder belongs to this run: checkpoints of later generations, from before the run was set
    back, are removed too, and so is what a killed process left behind.

    Args:
        algorithm: The evolution, best after `tell`.
        folder: Where checkpoints are; made if it is missing.
        keep: How many to keep, at least 1.
        task_state: `Task.state`, if the task keeps any.

    Returns:
        The new file. Equal states give equal bytes.

    Raises:
        OptionError: keep is out of range.
        OSError: The disk or the folder does not take it. What was there before is still there.
    """
    check_whole("keep", keep, 1)
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"checkpoint-{algorithm.generation:06d}.safetensors"
    write_checkpoint(resolve_inside(path), algorithm, task_state)
    tidy_checkpoints(home, algorithm.generation, keep)
    return path


def tidy_checkpoints(folder: str | os.PathLike[str], generation: int, keep: int) -> None:
    """Removes all checkpoints but the last few up to a generation, and leftovers.

    Args:
        folder: Where checkpoints are.
        generation: Where the run is; later checkpoints are from before it was set back.
        keep: How many to keep.

    Raises:
        OSError: A file cannot be removed.
    """
    files = list_checkpoints(folder)
    kept = [file for file in files if generation_of(file) <= generation][-keep:]
    for file in files:
        if file not in kept:
            file.unlink(missing_ok=True)
    remove_leftovers(folder, _Names())


def list_checkpoints(folder: str | os.PathLike[str]) -> list[Path]:
    """Lists the checkpoints of a folder, oldest first; none if there is no such folder.

    What has the name of a checkpoint and is no file is left alone.

    Raises:
        OSError: The folder cannot be read.
    """
    home = Path(folder)
    if not home.is_dir():
        return []
    found = [file for file in home.iterdir() if NAME.fullmatch(file.name) and file.is_file()]
    return sorted(found, key=generation_of)


class _Names(Container[str]):
    """The names of all checkpoints that there might be."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and NAME.fullmatch(name) is not None


def generation_of(path: Path) -> int:
    """Reads the generation off the name of a checkpoint; -1 for other names."""
    match = NAME.fullmatch(path.name)
    return int(match[1]) if match else -1


def load_checkpoint(
    path: str | os.PathLike[str],
    config: Config | None = None,
    fork: bool = False,
    *,
    algorithm: type[SomeAlgorithm],
    seed: int | None = None,
    backend: str | None = None,
    threads: int | None = None,
    on_bad_fitness: OnBadFitness | None = None,
) -> SomeAlgorithm:
    """Continues a run; it evolves bit by bit as if it had never stopped.

    Args:
        path: A checkpoint, or a folder, of which the newest that can be read is taken.
        config: What to continue with; None for the config in the checkpoint. A config that would
            evolve otherwise is refused, unless this is a fork. The table [run] may change freely,
            except the seed.
        fork: Whether to continue with another config or seed than before, on purpose.
        algorithm: The class of what evolves.
        seed: None for the seed of the run.
        backend: Wins over the config's.
        threads: Wins over the config's.
        on_bad_fitness: None for what the run did before.

    Raises:
        CheckpointError: Nothing there can be read, or the config or the seed has changed.
    """
    checkpoint = open_checkpoint(path, algorithm)
    resumed = restore(
        checkpoint,
        config,
        fork,
        seed=seed,
        backend=backend,
        threads=threads,
        on_bad_fitness=on_bad_fitness,
    )
    assert isinstance(resumed, algorithm)
    return resumed


def open_checkpoint(path: str | os.PathLike[str], algorithm: type[Algorithm]) -> Checkpoint:
    """Reads a checkpoint without continuing from it.

    Nothing in a file is executed, and everything in it is validated. If the newest file of a
    folder cannot be read, a warning says so, and the next older one takes its place.

    Args:
        path: A checkpoint, or a folder of them.
        algorithm: The class of what evolves.

    Raises:
        CheckpointError: Nothing there can be read.
    """
    where = Path(path)
    try:
        if not where.exists():
            raise CheckpointError(f"{where}: there is no such file or folder.")
        if not where.is_dir():
            return read_checkpoint(where, algorithm)
        files = list_checkpoints(where)
    except OSError as error:
        raise CheckpointError(f"{where}: cannot be read: {error.strerror}.") from error
    if not files:
        raise CheckpointError(
            f"{where}: holds no checkpoints, which have names like checkpoint-000123.safetensors."
        )
    faults: list[str] = []
    reasons: set[str] = set()
    for file in reversed(files):
        try:
            checkpoint = read_checkpoint(file, algorithm)
        except CheckpointError as error:
            faults.append(str(error))
            reasons.add(str(error).removeprefix(f"{file}: "))
            continue
        if faults:
            older = f"{file}: taken instead, although it is older."
            warnings.warn("\n".join([*faults, older]), stacklevel=2)
        return checkpoint
    if len(reasons) == 1 < len(files):  # said once, not for every file
        names = ", ".join(file.name for file in files)
        raise CheckpointError(
            f"{where}: no checkpoint in it can be read: {reasons.pop()} This holds for {names}."
        )
    raise CheckpointError("\n".join([f"{where}: no checkpoint in it can be read.", *faults]))
