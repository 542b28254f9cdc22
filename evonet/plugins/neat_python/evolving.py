"""Evolves a neat-python config in evonet, from Python or from the command line."""

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
from evonet.plugins.neat_python.config_object import read_config_object
from evonet.plugins.neat_python.fitness_task import FORMS, FitnessTask
from evonet.plugins.neat_python.genes import NeatConfig, NeatGenome
from evonet.plugins.neat_python.reporting import ReporterBridge
from evonet.runs.loop import evolve as evolve_natively
from evonet.tasks.base import Task
from evonet.tasks.user import load_object


def load_neat_config(path: str | os.PathLike[str]) -> NeatConfig:
    """Reads a config as neat-python does, with its default classes."""
    return neat.Config(
        neat.DefaultGenome,
        neat.DefaultReproduction,
        neat.DefaultSpeciesSet,
        neat.DefaultStagnation,
        os.fspath(path),
    )


def evolve(
    config: str | os.PathLike[str] | NeatConfig,
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

    evonet breeds, speciates and evaluates, by neat-python's rules and settings. The random numbers
    are other ones, so it is another run of the same kind.

    Args:
        config: A neat-python config file; or a `neat.Config`, with what the script has changed
            in it, and functions that `add_activation` or `add_aggregation` added, if they can be
            translated.
        fitness: A `BatchEvaluator`, one of evonet's tasks, or a function: `eval_genomes(genomes,
            config)` or `eval_genome(genome, config)` as for neat-python, or `f(genome, net)`.
            Functions take genome objects, which have to be made for them in every generation.
        generations: The most generations; None for 300.
        reporters: neat-python's reporters, such as `neat.StdOutReporter(True)`.
        callbacks: evonet's callbacks, such as `evonet.CheckpointSaver(folder)`.
        seed: Determines all random numbers; None for the config's seed, or 0.
        dtype: float64 as in neat-python, or float32.
        backend: Where networks run.
        threads: CPU threads; 0 for all available.

    Returns:
        The best genome, of neat-python's class, with its fitness.

    Raises:
        ConfigError: The config has faults; lists all of them.
        OptionError: The fitness or the config is something else, or a function of the config
            cannot be translated.
        neat.CompleteExtinctionException: All species died out.
    """
    if isinstance(config, neat.Config):
        neat_config, settings = config, read_config_object(config)
    elif isinstance(config, (str, os.PathLike)):
        neat_config, settings = load_neat_config(config), Config.load(config)
    else:
        raise OptionError(
            f"config is a {type(config).__name__}. Expected a neat.Config, or the path of a "
            "neat-python config file."
        )
    fitness_task = FitnessTask(fitness, neat_config)
    bridge = ReporterBridge(reporters, neat_config)
    try:
        result = evolve_natively(
            fitness_task,
            settings,
            generations=generations,
            seed=seed,
            callbacks=[bridge, *callbacks],
            dtype=dtype,
            # Resolved once, not in every generation.
            backend=resolve_backend(settings.run.backend if backend is None else backend).name,
            threads=threads,
        )
    except ExtinctionError as error:
        bridge.report_extinction()
        raise neat.CompleteExtinctionException(str(error)) from error
    best = result.best
    if best is None:
        raise OptionError(f"generations={generations}: no generation was to be evaluated.")
    ((_, winner),) = best.population.to_neat(neat_config, [best.id])
    winner.fitness = best.fitness
    return winner


def fitness_from_file(name: str, *, config: str) -> FitnessTask:
    """Makes a task from what scores genomes in a file: the tasks called "neat:FILE.py:NAME".

    This runs the file, so its name must come from the user. `config` is the path of a config.
    """
    found = load_object(name)
    if found is None:
        file, _, attribute = name.rpartition(":")
        raise OptionError(f"{file} has no {attribute!r}. Expected {FORMS}.")
    return FitnessTask(found, load_neat_config(config))


def reporter_of(task: Task) -> ReporterBridge:
    """Returns a callback with which neat-python's reporter prints the progress of a run."""
    assert isinstance(task, FitnessTask)
    return ReporterBridge([neat.StdOutReporter(True)], task.config)
