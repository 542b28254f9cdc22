"""A neat-python config, evolved by evonet from the first generation to the last."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import neat
import numpy as np
import numpy.typing as npt

from evonet.backends import resolve_backend
from evonet.config import Config
from evonet.errors import ExtinctionError, OptionError
from evonet.evolution.hooks import CallbackLike
from evonet.plugins.neat_python.fitness_task import FitnessTask
from evonet.plugins.neat_python.genes import NeatConfig, NeatGenome
from evonet.plugins.neat_python.reporting import ReporterBridge
from evonet.runs.loop import evolve as evolve_natively


def load_neat_config(path: str | os.PathLike[str]) -> NeatConfig:
    """Reads a config as neat-python does, with its default classes.

    Raises:
        OptionError: It is no path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise OptionError(
            f"config_path is a {type(path).__name__}. Expected the path of a neat-python config "
            "file: evonet reads its settings itself."
        )
    return neat.Config(
        neat.DefaultGenome,
        neat.DefaultReproduction,
        neat.DefaultSpeciesSet,
        neat.DefaultStagnation,
        os.fspath(path),
    )


def evolve(
    config_path: str | os.PathLike[str],
    fitness: Any,
    generations: int | None = None,
    *,
    reporters: Iterable[Any] = (),
    callbacks: Iterable[CallbackLike] = (),
    seed: int | None = None,
    dtype: npt.DTypeLike = np.float64,
    backend: str | None = None,
    threads: int | None = None,
) -> NeatGenome:
    """Does what `neat.Population(config).run(fitness, generations)` does, natively.

    Evonet breeds, speciates and evaluates; neat-python's rules and settings hold, but not its
    random numbers: another run, of the same kind.

    Args:
        config_path: A neat-python config file.
        fitness: A `BatchEvaluator`, a task of evonet, or a function: `eval_genomes(genomes,
            config)` or `eval_genome(genome, config)` as for neat-python, or `f(genome, net)`.
            Functions of genomes see genome objects, which have to be made for them.
        generations: The most generations; None for 300.
        reporters: Of neat-python's, such as `neat.StdOutReporter(True)`.
        callbacks: Of evonet's, such as `evonet.CheckpointSaver(folder)`.
        seed: Fixes all random numbers; None for the config's, or 0.
        dtype: float64 as in neat-python, or float32.
        backend: Where networks run.
        threads: 0 for all available.

    Returns:
        The best genome, of neat-python's own class, with its fitness.

    Raises:
        ConfigError: The config has faults; lists all of them.
        OptionError: The fitness is something else.
        neat.CompleteExtinctionException: All species died out.
    """
    neat_config = load_neat_config(config_path)
    fitness_task = FitnessTask(fitness, neat_config)
    config = Config.load(config_path)
    if fitness_task.settings:
        config = config.replace(fitness_task.settings)
    bridge = ReporterBridge(reporters, neat_config)
    try:
        result = evolve_natively(
            fitness_task,
            config,
            generations=generations,
            seed=seed,
            callbacks=[bridge, *callbacks],
            dtype=dtype,
            # Looked for once, not in every generation.
            backend=resolve_backend(config.run.backend if backend is None else backend).name,
            threads=threads,
        )
    except ExtinctionError as error:
        bridge.tell_of_extinction()
        raise neat.CompleteExtinctionException(str(error)) from error
    best = result.best
    if best is None:
        raise OptionError(f"generations={generations}: no generation was to be evaluated.")
    ((_, winner),) = best.genome.to_neat(neat_config, [best.id])
    winner.fitness = best.fitness
    return winner
