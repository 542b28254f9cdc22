"""The one list of algorithms that a config can name."""

from __future__ import annotations

import inspect
import os
from contextlib import suppress
from typing import Final

from evonet.errors import OptionError
from evonet.evolution.algorithm import Algorithm
from evonet.evolution.neat.neat import NEAT
from evonet.messages import did_you_mean
from evonet.tasks.user import load_object

ALGORITHMS: Final[dict[str, type[Algorithm]]] = {"neat": NEAT}


def find_algorithm(name: str) -> type[Algorithm]:
    """Looks up the algorithm that run.algorithm names.

    Args:
        name: A name of `ALGORITHMS`; or "module:Class" or "file.py:Class" for an algorithm of
            your own, which is imported. So the name must come from the user.

    Raises:
        OptionError: There is no such algorithm.
    """
    if ":" in name:
        found = load_object(name, "algorithm")
        if not isinstance(found, type) or not issubclass(found, Algorithm):
            raise OptionError(f"algorithm {name!r} is not a class that derives from Algorithm.")
        return found
    if name not in ALGORITHMS:
        hint = did_you_mean(name, ALGORITHMS)
        raise OptionError(f'{name!r} is not an algorithm. {hint} Others are "module:Class".')
    return ALGORITHMS[name]


def reference_to(algorithm: type[Algorithm]) -> str:
    """Returns what run.algorithm has to say for a class, so that `find_algorithm` finds it."""
    for name, known in ALGORITHMS.items():
        if known is algorithm:
            return name
    module = algorithm.__module__
    if module == "__main__":  # a script, which later goes by its file
        with suppress(OSError, TypeError):  # a notebook has none, and its classes end with it
            module = os.path.abspath(inspect.getfile(algorithm))
    return f"{module}:{algorithm.__qualname__}"
