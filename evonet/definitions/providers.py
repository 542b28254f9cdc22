"""What lower rooms offer by name and plugins provide: genomes of other libraries, kinds of tasks.

A provider is registered by name and imported when it is first used. So the rooms below plugins know
none of them, and registering costs nothing. `evonet/__init__.py` registers evonet's own plugins.
"""

from __future__ import annotations

import importlib
from typing import Any, Final, NamedTuple


class Provider(NamedTuple):
    """Something that is imported when it is first used.

    Attributes:
        place: "module:name".
        summary: One line about it.
    """

    place: str
    summary: str = ""

    def load(self) -> Any:
        """Imports the module and returns what has the name in it."""
        module, _, name = self.place.partition(":")
        return getattr(importlib.import_module(module), name)


# Genomes of other libraries, by library: a function (genomes, config, dtype, make) -> Population.
GENOME_READERS: Final[dict[str, Provider]] = {}
# The way back: a function (population, config, keys) -> genomes.
GENOME_WRITERS: Final[dict[str, Provider]] = {}
# Tasks called "prefix:rest", by prefix: a function (rest, **options) -> Task.
TASK_PREFIXES: Final[dict[str, Provider]] = {}
