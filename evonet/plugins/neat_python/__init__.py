"""evonet for users of neat-python: change two lines, keep the script, its config and reporters.

Fitness of whole populations at once, for `population.run(evaluator, 300)`:
    BatchEvaluator
neat-python's networks, compiled:
    FeedForwardNetwork, RecurrentNetwork, CTRNN, IZNN
The whole evolution in evonet, from a neat-python config to a neat-python genome:
    evolve
Networks as neat-python's JSON:
    export_json
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evonet.plugins.neat_python.continuous import CTRNN
    from evonet.plugins.neat_python.evaluator import BatchEvaluator
    from evonet.plugins.neat_python.evolving import evolve
    from evonet.plugins.neat_python.export import export_json
    from evonet.plugins.neat_python.networks import FeedForwardNetwork, RecurrentNetwork
    from evonet.plugins.neat_python.spiking import IZNN

_HOME = {
    "BatchEvaluator": "evaluator",
    "CTRNN": "continuous",
    "FeedForwardNetwork": "networks",
    "IZNN": "spiking",
    "RecurrentNetwork": "networks",
    "evolve": "evolving",
    "export_json": "export",
    "fitness_from_file": "evolving",
}

__all__ = [
    "CTRNN",
    "IZNN",
    "BatchEvaluator",
    "FeedForwardNetwork",
    "RecurrentNetwork",
    "evolve",
    "export_json",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    importlib.import_module(f"{__name__}.installed")  # reports whether neat-python is missing
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
