"""evonet: neuroevolution with whole populations evaluated as one computation.

Populations and what they hold:
    Population, Genome
Compiling and running them:
    compile, Network, Schedule, Analysis, build_schedule
Custom functions:
    register_activation, register_aggregation, unregister_activation,
    unregister_aggregation
Learning by gradients:
    learn, Learner, Learned, Lesson
Evolving them:
    Config, Algorithm, NEAT, Best, Evaluation, evolve, Result
Watching and keeping a run:
    Callback, GenerationRecord, CheckpointSaver, MetricsWriter, Progress,
    TensorBoardWriter, save_champion, load_champion, read_champion
Runs with a folder of their own:
    start_run, resume_run, RunFolder
Classifying into very many classes:
    WideClassifier
Errors:
    EvonetError and its children, drawn as a tree in evonet.errors
"""

from __future__ import annotations

import importlib
from pathlib import Path

import evonet.definitions.providers as _providers

__version__ = "0.1.0"

# What plugins provide to the rooms below them.
_NEAT = "evonet.plugins.neat_python"
_providers.GENOME_READERS["neat"] = _providers.Provider(f"{_NEAT}.genomes:read_genomes")
_providers.GENOME_WRITERS["neat"] = _providers.Provider(f"{_NEAT}.genomes:write_genomes")
_providers.TASK_PREFIXES["neat"] = _providers.Provider(
    f"{_NEAT}:fitness_from_file", "a fitness function for neat-python"
)

# Where each public name lives, as the stub lists it; it is imported when it is first used.
_HOME = {
    words[3]: words[1]
    for words in map(str.split, Path(__file__).with_suffix(".pyi").read_text().splitlines())
    if words[:1] == ["from"]
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'evonet' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
