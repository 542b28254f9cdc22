"""Which functions of a neat-python config evonet computes itself, and which it has to call.

A config may have more functions than neat-python, and others under the same names: what counts is
the function object behind a name, never the name alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from evonet.errors import EvonetError
from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.plugins.neat_python.genes import NeatConfig
from evonet.plugins.neat_python.installed import built_in_activations, built_in_aggregations

# The id of a function that only Python can call.
IN_PYTHON: Final = 255

Function = Callable[..., Any]

_translated: dict[tuple[str, str, Function], int] = {}
_warned: set[Function] = set()


def function_ids(config: NeatConfig) -> dict[str, dict[str, int]]:
    """Returns the ids of a config's activations and aggregations by name.

    Custom functions that could not be translated have the id IN_PYTHON.
    """
    built_in = {"activation": built_in_activations(), "aggregation": built_in_aggregations()}
    return {
        kind: {
            name: _id(kind, name, function, built_in[kind].get(name) is function)
            for name, function in functions.items()
        }
        for kind, functions in _functions(config).items()
    }


def _functions(config: NeatConfig) -> dict[str, Mapping[str, Function]]:
    settings: Any = getattr(config, "genome_config", config)
    return {
        "activation": settings.activation_defs.functions,
        "aggregation": settings.aggregation_function_defs.functions,
    }


def _id(kind: str, name: str, function: Function, is_built_in: bool) -> int:
    table = ACTIVATION_TABLE if kind == "activation" else AGGREGATION_TABLE
    if is_built_in:
        return table.ids.get(name, IN_PYTHON)
    key = (kind, name, function)
    if key not in _translated:
        try:
            table.register(name, function)
            _translated[key] = table.ids[name]
        except EvonetError:  # too much for a translation, or the name means something else already
            _translated[key] = IN_PYTHON
    return _translated[key]


def warn_of_python(config: NeatConfig, functions: Iterable[Function]) -> None:
    """Warns once for each function that genomes use what it costs that it runs in Python."""
    new = [function for function in functions if function not in _warned]
    if not new:
        return
    _warned.update(new)
    ids = function_ids(config)
    names = {f: (kind, name) for kind, t in _functions(config).items() for name, f in t.items()}
    named = [names[f] for f in new if f in names]
    listed = ", ".join(f'{kind} "{name}"' for kind, name in named)
    hint = ""
    if named and all(ids[kind][name] != IN_PYTHON for kind, name in named):
        hint = " exact=False translates it; its values may then differ in the last bits."
    warnings.warn(
        f"{listed}: runs in Python, one sample at a time, on one thread: a call takes a tenth of "
        f"a microsecond or more, where other nodes take a few nanoseconds.{hint}",
        RuntimeWarning,
        stacklevel=2,
    )
