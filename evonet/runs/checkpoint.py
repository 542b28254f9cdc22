"""Checkpoints: a folder with the last few states of a run, and how to go on from there.

    save_checkpoint(neat, "runs/xor")              # after every tell
    neat = load_checkpoint("runs/xor")             # the newest that can be read

A file appears whole or not at all, and older ones go only once the new one is safe on the disk.
So whenever a run is killed, there is a checkpoint to go on from, with equal bits.
"""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Final

from evonet.runs.checkpoint_file import Checkpoint, read_checkpoint, write_checkpoint
from evonet.runs.checkpoint_state import check_acyclic
from evonet.config import Config
from evonet.config.config import EVOLUTION
from evonet.messages import show
from evonet.errors import CheckpointError, CyclicGenomeError, OptionError
from evonet.evolution.neat.neat import NEAT, OnBadFitness
from evonet.genes.population import Population

__all__ = [
    "Checkpoint",
    "generation_of",
    "list_checkpoints",
    "load_checkpoint",
    "open_checkpoint",
    "resume_run",
    "save_checkpoint",
    "tidy_checkpoints",
]

NAME: Final = re.compile(r"checkpoint-([0-9]{6,})\.safetensors")
# What a killed process leaves behind; `open_atomic` names it.
LEFTOVER: Final = re.compile(r"\.checkpoint-[0-9]{6,}\.safetensors\.[0-9a-f]+\.tmp")


def save_checkpoint(neat: NEAT, folder: str | os.PathLike[str], keep: int = 3) -> Path:
    """Writes the state of a run, which stays as it is, and keeps the last few.

    The folder belongs to this run: checkpoints of later generations, from before the run was set
    back, are removed too, and so is what a killed process left behind.

    Args:
        neat: The run, best after `tell`.
        folder: Where checkpoints are; made if it is missing.
        keep: How many to keep, at least 1.

    Returns:
        The new file. Equal states give equal bytes.

    Raises:
        OptionError: keep is out of range.
        OSError: The disk or the folder does not take it. What was there before is still there.
    """
    if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
        raise OptionError(f"keep={keep!r} must be a whole number, at least 1.")
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"checkpoint-{neat.generation:06d}.safetensors"
    write_checkpoint(path, neat)
    tidy_checkpoints(home, neat.generation, keep)
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
    for file in Path(folder).iterdir():
        if LEFTOVER.fullmatch(file.name):
            file.unlink(missing_ok=True)


def list_checkpoints(folder: str | os.PathLike[str]) -> list[Path]:
    """Lists the checkpoints of a folder, oldest first; none if there is no such folder.

    Raises:
        OSError: The folder cannot be read.
    """
    home = Path(folder)
    if not home.is_dir():
        return []
    found = [file for file in home.iterdir() if NAME.fullmatch(file.name)]
    return sorted(found, key=generation_of)


def generation_of(path: Path) -> int:
    """Reads the generation off the name of a checkpoint; -1 for other names."""
    match = NAME.fullmatch(path.name)
    return int(match[1]) if match else -1


def load_checkpoint(
    path: str | os.PathLike[str],
    config: Config | None = None,
    fork: bool = False,
    *,
    seed: int | None = None,
    backend: str | None = None,
    threads: int | None = None,
    on_bad_fitness: OnBadFitness | None = None,
) -> NEAT:
    """Goes on with a run; it evolves bit by bit as if it had never stopped.

    Args:
        path: A checkpoint, or a folder, of which the newest that can be read is taken.
        config: What to go on with; None for the config in the checkpoint. A config that would
            evolve otherwise is refused, unless this is a fork. The tables [run] and [task] may
            change freely, except the seed.
        fork: Whether to go on with another config or seed than before, on purpose.
        seed: None for the seed of the run.
        backend: Wins over the config's.
        threads: Wins over the config's.
        on_bad_fitness: None for what the run did before.

    Raises:
        CheckpointError: Nothing there can be read, or the config or the seed has changed.
    """
    checkpoint = open_checkpoint(path)
    return resume_run(
        checkpoint,
        config,
        fork,
        seed=seed,
        backend=backend,
        threads=threads,
        on_bad_fitness=on_bad_fitness,
    )


def open_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Reads a checkpoint without going on from it.

    Nothing in a file is executed, and everything in it is validated. If the newest file of a
    folder cannot be read, a warning says so, and the next older one takes its place.

    Args:
        path: A checkpoint, or a folder of them.

    Raises:
        CheckpointError: Nothing there can be read.
    """
    where = Path(path)
    try:
        if not where.exists():
            raise CheckpointError(f"{where}: there is no such file or folder.")
        if not where.is_dir():
            return read_checkpoint(where)
        files = list_checkpoints(where)
    except OSError as error:
        raise CheckpointError(f"{where}: cannot be read: {error.strerror}.") from error
    if not files:
        raise CheckpointError(
            f"{where}: holds no checkpoints, which have names like checkpoint-000123.safetensors."
        )
    faults: list[str] = []
    for file in reversed(files):
        try:
            checkpoint = read_checkpoint(file)
        except CheckpointError as error:
            faults.append(str(error))
            continue
        if faults:
            older = f"{file}: taken instead, although it is older."
            warnings.warn("\n".join([*faults, older]), stacklevel=2)
        return checkpoint
    raise CheckpointError("\n".join([f"{where}: no checkpoint in it can be read.", *faults]))


def resume_run(
    checkpoint: Checkpoint,
    config: Config | None = None,
    fork: bool = False,
    *,
    seed: int | None = None,
    backend: str | None = None,
    threads: int | None = None,
    on_bad_fitness: OnBadFitness | None = None,
) -> NEAT:
    """Goes on from a checkpoint; `load_checkpoint` documents the arguments.

    Raises:
        CheckpointError: The config or the seed has changed.
    """
    state, old = checkpoint.state, checkpoint.config
    new = old if config is None else config
    if seed is None:
        # The seed may have been given apart from the config, so only a change of it counts.
        seed = checkpoint.seed if new.run.seed == old.run.seed else new.run.seed
    changes = _changes(old, new, state.population)
    if seed != checkpoint.seed:
        changes["seed"] = f"{checkpoint.seed}, now {seed}"
    if changes and not fork:
        listed = "; ".join(f"{name} = {change}" for name, change in changes.items())
        raise CheckpointError(
            f"{checkpoint.path}: the run has other settings: {listed}. Go on with the settings "
            "it has, or with fork=True to change them on the way."
        )
    _check_fork(checkpoint, new, changes)
    if "speciation.threshold" in changes:
        state = replace(state, threshold=new.speciation.threshold)
    return NEAT(
        new,
        seed,
        num_inputs=state.population.num_inputs,
        num_outputs=state.population.num_outputs,
        dtype=state.population.dtype,
        backend=backend,
        threads=threads,
        on_bad_fitness=on_bad_fitness or checkpoint.on_bad_fitness,
        state=state,
    )


def _changes(old: Config, new: Config, population: Population) -> dict[str, str]:
    """Names the settings that make a run evolve otherwise, with both values."""
    if old.digest() == new.digest():
        return {}
    before, after = old.to_dict(), new.to_dict()
    for tables in (before, after):
        tables.setdefault("functions", {})
        # Spelling out what was left to the task is no change.
        for name in ("num_inputs", "num_outputs"):
            tables["genome"].setdefault(name, getattr(population, name))
    return {
        f"{table}.{key}": f"{_shown(before[table], key)}, now {_shown(after[table], key)}"
        for table in (*EVOLUTION, "functions")
        for key in before[table] | after[table]
        if before[table].get(key) != after[table].get(key)
    }


def _shown(table: dict[str, object], key: str) -> str:
    return show(table[key]) if key in table else "not set"


def _check_fork(checkpoint: Checkpoint, config: Config, changes: dict[str, str]) -> None:
    """Raises for a change that the genomes of a checkpoint cannot follow."""
    for name in ("genome.num_inputs", "genome.num_outputs"):
        if name in changes:
            raise CheckpointError(
                f"{checkpoint.path}: {name} = {changes[name]}. Not even a fork can change that."
            )
    name = "neat.fitness_criterion"
    if name in changes and "min" in (
        checkpoint.config.neat.fitness_criterion,
        config.neat.fitness_criterion,
    ):
        raise CheckpointError(
            f"{checkpoint.path}: {name} = {changes[name]}. What was best would be worst; not even "
            "a fork can change that."
        )
    if "genome.feed_forward" in changes and config.genome.feed_forward:
        try:
            check_acyclic(checkpoint.state.population)
        except CyclicGenomeError as error:
            raise CheckpointError(
                f"{checkpoint.path}: genome.feed_forward = {changes['genome.feed_forward']}, but "
                f"{error}"
            ) from error
