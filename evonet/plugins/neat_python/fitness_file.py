"""Fitness functions in files, for the command line."""

from __future__ import annotations

import neat

from evonet.errors import OptionError
from evonet.plugins.neat_python.evolving import load_neat_config
from evonet.plugins.neat_python.fitness_task import FORMS, FitnessTask
from evonet.plugins.neat_python.reporting import ReporterBridge
from evonet.tasks.base import Task
from evonet.tasks.user import load_object


def fitness_from_file(name: str, *, config: str) -> FitnessTask:
    """Loads what genomes are scored with. This runs the file, so its name must come from the user.

    Args:
        name: "file.py:name".
        config: The path of a neat-python config.

    Raises:
        OptionError: There is no such thing, or it scores no genomes.
    """
    found = load_object(name)
    if found is None:
        file, _, attribute = name.rpartition(":")
        raise OptionError(f"{file} has no {attribute!r}. Expected {FORMS}.")
    return FitnessTask(found, load_neat_config(config))


def reporter_of(task: Task) -> ReporterBridge:
    """Returns a callback by which neat-python's reporter prints how the run goes."""
    assert isinstance(task, FitnessTask)
    return ReporterBridge([neat.StdOutReporter(True)], task.config)
