"""One checkpoint as one file: all that a run needs to go on, and no code.

The genomes are those of the population, then the best one so far if there is one. Species lie
behind each other: species s has the members `member[member_start[s]:member_start[s + 1]]`, and
its scores likewise. Everything else is in the settings, the config as TOML.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evonet.runs.checkpoint_state import COUNTERS, PER_SPECIES, SETTINGS, TENSORS, StateReader
from evonet.config import Config
from evonet.errors import CheckpointError, EvonetError
from evonet.evolution.neat.neat import NEAT, OnBadFitness, State
from evonet.functions.registry import adopted, join_texts
from evonet.genes.arrays import starts_of
from evonet.genes.population import Population
from evonet.genes.file import pack_functions
from evonet.files.tensors import read_tensors, write_tensors

FORMAT: Final = "evonet.checkpoint"
VERSION: Final = 1


@dataclass(frozen=True)
class Checkpoint:
    """What a file holds.

    Attributes:
        path: The file.
        config: The settings of the run.
        seed: The seed of the run.
        on_bad_fitness: What the run does about NaN.
        state: Where the run was.
    """

    path: Path
    config: Config
    seed: int
    on_bad_fitness: OnBadFitness
    state: State


def write_checkpoint(path: str | os.PathLike[str], neat: NEAT) -> None:
    """Writes one file, whole or not at all; equal states give equal bytes.

    Raises:
        OSError: The disk or the folder does not take it.
    """
    write_tensors(path, FORMAT, VERSION, *pack(neat))


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Reads one file, which may come from anywhere: nothing in it is executed or believed.

    Raises:
        CheckpointError: It is missing, damaged, from a newer evonet, or no state of any run.
    """
    where = os.fspath(path)
    try:
        settings, tensors = read_tensors(path, FORMAT, VERSION, TENSORS)
        reader = StateReader(settings, tensors)
        with adopted(reader.functions()):
            config = reader.config()
            state = reader.state(config)
            seed, on_bad_fitness = reader.seed(), reader.on_bad_fitness()
    except OSError as error:
        raise CheckpointError(f"{where}: cannot be read: {error.strerror}.") from error
    except RecursionError as error:
        raise CheckpointError(f"{where}: its settings are nested too deeply.") from error
    except EvonetError as error:
        text = str(error)
        text = text if text.startswith(f"{where}: ") else f"{where}: {text}"
        raise CheckpointError(text) from error
    return Checkpoint(Path(path), config, seed, on_bad_fitness, state)


def pack(neat: NEAT) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Lays out a run as settings and arrays, without changing it.

    Returns:
        What JSON can hold, with the names in `SETTINGS`; and arrays, with those in `TENSORS`.
    """
    state, best, species = neat.state, neat.state.best, neat.state.species
    genomes = state.population
    if best is not None:
        genomes = Population.concatenate([genomes, best.genome])
    names, own, tensors = pack_functions(genomes)
    settings: dict[str, Any] = {
        "num_inputs": genomes.num_inputs,
        "num_outputs": genomes.num_outputs,
        **names,
        "functions": join_texts(own, neat.config.functions),
        "config": neat.config.to_toml(),
        "config_digest": neat.config.digest(),
        "seed": neat.seed,
        "on_bad_fitness": neat._on_bad_fitness,
        "generation": state.generation,
        "threshold": float(state.threshold),
        **{name: int(getattr(state, name)) for name in COUNTERS},
        "best": None,
    }
    if best is not None:
        settings["best"] = {
            "fitness": best.fitness,
            "generation": best.generation,
            "id": best.id,
        }
    assert settings.keys() == SETTINGS
    tensors["ids"] = np.asarray(state.ids, np.int64)
    tensors["fitness"] = np.zeros(0) if state.fitness is None else state.fitness
    for name in PER_SPECIES:
        tensors[f"species_{name}"] = np.array([getattr(s, name) for s in species], np.int64)
    tensors["member_start"] = starts_of(np.array([len(s) for s in species]))
    tensors["member"] = np.concatenate([s.members for s in species]).astype(np.int64)
    tensors["score_start"] = starts_of(np.array([len(s.score_history) for s in species]))
    tensors["score"] = np.array([score for s in species for score in s.score_history], np.float64)
    return settings, tensors
