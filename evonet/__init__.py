"""evonet: neuroevolution with whole populations evaluated as one computation.

Populations and what they hold:
    Population, Genome
Compiling and running them:
    compile, Network, Schedule, Analysis, build_schedule
Functions of one's own:
    register_activation, register_aggregation, unregister_activation,
    unregister_aggregation
Evolving them:
    Config, Algorithm, NEAT, Best, Evaluation, evolve, Result
Watching and keeping a run:
    Callback, GenerationRecord, CheckpointSaver, MetricsWriter, Progress,
    TensorBoardWriter, save_champion, load_champion, read_champion
A run with a folder of its own:
    start_run, resume_run, RunFolder
Errors:
    EvonetError and its children, drawn as a tree in evonet.errors
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import evonet.definitions.providers as _providers

if TYPE_CHECKING:
    from evonet.config import Config
    from evonet.errors import (
        BackendError,
        CheckpointError,
        CompileError,
        ConfigError,
        CyclicGenomeError,
        DeviceError,
        DeviceMemoryError,
        EvonetError,
        ExpressionError,
        ExtinctionError,
        FileFormatError,
        FitnessError,
        GenomeError,
        OptionError,
        RunFolderError,
        ShapeError,
        UnknownFunctionError,
    )
    from evonet.evaluation.evaluation import Evaluation
    from evonet.evolution.algorithm import Algorithm
    from evonet.evolution.callbacks import CheckpointSaver, MetricsWriter, Progress
    from evonet.evolution.hooks import Callback, Result
    from evonet.evolution.neat.neat import NEAT
    from evonet.evolution.record import GenerationRecord
    from evonet.evolution.state import Best
    from evonet.evolution.tensorboard import TensorBoardWriter
    from evonet.functions.registry import (
        register_activation,
        register_aggregation,
        unregister_activation,
        unregister_aggregation,
    )
    from evonet.genes.genome import Genome
    from evonet.genes.population import Population
    from evonet.network import Network, compile
    from evonet.runs.champion import load_champion, read_champion, save_champion
    from evonet.runs.folder import RunFolder
    from evonet.runs.loop import evolve
    from evonet.runs.start import resume_run, start_run
    from evonet.schedule.analysis import Analysis
    from evonet.schedule.schedule import Schedule, build_schedule

__version__ = "0.1.0"

# What plugins provide to the rooms below them.
_NEAT = "evonet.plugins.neat_python"
_providers.GENOME_READERS["neat"] = _providers.Provider(f"{_NEAT}.genomes:read_genomes")
_providers.GENOME_WRITERS["neat"] = _providers.Provider(f"{_NEAT}.genomes:write_genomes")
_providers.TASK_PREFIXES["neat"] = _providers.Provider(
    f"{_NEAT}:fitness_from_file", "a fitness function for neat-python"
)

# Where each public name lives; it is imported when it is first asked for.
_HOME = {
    "Algorithm": "evolution.algorithm",
    "Analysis": "schedule.analysis",
    "BackendError": "errors",
    "Best": "evolution.state",
    "Callback": "evolution.hooks",
    "CheckpointError": "errors",
    "CheckpointSaver": "evolution.callbacks",
    "CompileError": "errors",
    "Config": "config",
    "ConfigError": "errors",
    "CyclicGenomeError": "errors",
    "DeviceError": "errors",
    "DeviceMemoryError": "errors",
    "Evaluation": "evaluation.evaluation",
    "EvonetError": "errors",
    "ExpressionError": "errors",
    "ExtinctionError": "errors",
    "FileFormatError": "errors",
    "FitnessError": "errors",
    "GenerationRecord": "evolution.record",
    "Genome": "genes.genome",
    "GenomeError": "errors",
    "MetricsWriter": "evolution.callbacks",
    "NEAT": "evolution.neat.neat",
    "Network": "network",
    "OptionError": "errors",
    "Population": "genes.population",
    "Progress": "evolution.callbacks",
    "Result": "evolution.hooks",
    "RunFolder": "runs.folder",
    "RunFolderError": "errors",
    "Schedule": "schedule.schedule",
    "ShapeError": "errors",
    "TensorBoardWriter": "evolution.tensorboard",
    "UnknownFunctionError": "errors",
    "build_schedule": "schedule.schedule",
    "compile": "network",
    "evolve": "runs.loop",
    "load_champion": "runs.champion",
    "read_champion": "runs.champion",
    "register_activation": "functions.registry",
    "register_aggregation": "functions.registry",
    "resume_run": "runs.start",
    "save_champion": "runs.champion",
    "start_run": "runs.start",
    "unregister_activation": "functions.registry",
    "unregister_aggregation": "functions.registry",
}

__all__ = [
    "NEAT",
    "Algorithm",
    "Analysis",
    "BackendError",
    "Best",
    "Callback",
    "CheckpointError",
    "CheckpointSaver",
    "CompileError",
    "Config",
    "ConfigError",
    "CyclicGenomeError",
    "DeviceError",
    "DeviceMemoryError",
    "Evaluation",
    "EvonetError",
    "ExpressionError",
    "ExtinctionError",
    "FileFormatError",
    "FitnessError",
    "GenerationRecord",
    "Genome",
    "GenomeError",
    "MetricsWriter",
    "Network",
    "OptionError",
    "Population",
    "Progress",
    "Result",
    "RunFolder",
    "RunFolderError",
    "Schedule",
    "ShapeError",
    "TensorBoardWriter",
    "UnknownFunctionError",
    "build_schedule",
    "compile",
    "evolve",
    "load_champion",
    "read_champion",
    "register_activation",
    "register_aggregation",
    "resume_run",
    "save_champion",
    "start_run",
    "unregister_activation",
    "unregister_aggregation",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'evonet' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"evonet.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
