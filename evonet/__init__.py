"""evonet: neuroevolution with whole populations evaluated as one computation.

Populations and what they hold:
    Population, Genome
Compiling and running them:
    compile, Network, Schedule, build_schedule
Errors:
    EvonetError and its children, drawn as a tree in evonet.errors
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evonet.analysis import Analysis
    from evonet.errors import (
        BackendError,
        CyclicGenomeError,
        EvonetError,
        FileFormatError,
        GenomeError,
        OptionError,
        ShapeError,
        UnknownFunctionError,
    )
    from evonet.genome import Genome
    from evonet.network import Network, compile
    from evonet.population import Population
    from evonet.schedule import Schedule, build_schedule

__version__ = "0.1.0"

_HOME = {
    "Analysis": "analysis",
    "BackendError": "errors",
    "CyclicGenomeError": "errors",
    "EvonetError": "errors",
    "FileFormatError": "errors",
    "Genome": "genome",
    "GenomeError": "errors",
    "Network": "network",
    "OptionError": "errors",
    "Population": "population",
    "Schedule": "schedule",
    "ShapeError": "errors",
    "UnknownFunctionError": "errors",
    "build_schedule": "schedule",
    "compile": "network",
}

__all__ = [
    "Analysis",
    "BackendError",
    "CyclicGenomeError",
    "EvonetError",
    "FileFormatError",
    "Genome",
    "GenomeError",
    "Network",
    "OptionError",
    "Population",
    "Schedule",
    "ShapeError",
    "UnknownFunctionError",
    "build_schedule",
    "compile",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'evonet' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"evonet.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
