"""Which functions of a neat-python config evonet computes itself, and which it has to call.

A config may know more functions than neat-python does, and others under the same names: what
counts is the function object behind a name, never the name alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import evonet
from evonet.errors import EvonetError
from evonet.functions.registry import ACTIVATION_IDS, AGGREGATION_IDS, activation_id, aggregation_id
from evonet.plugins.neat_python.genes import NeatConfig
from evonet.plugins.neat_python.installed import built_in_activations, built_in_aggregations

# The id of a function that only Python can call.
IN_PYTHON: Final = 255

_translated: dict[tuple[str, str, Callable[..., Any]], int] = {}
_warned: set[Callable[..., Any]] = set()


def function_ids(config: NeatConfig) -> dict[str, dict[str, int]]:
    """Ids of all functions that a config knows, by name.

    Args:
        config: A `neat.Config`.

    Returns:
        "activation" and "aggregation", each with an id per name; IN_PYTHON for functions of the
        user's own that could not be translated.
    """
    settings: Any = getattr(config, "genome_config", config)
    return {
        "activation": _ids(
            "activation",
            settings.activation_defs.functions,
            built_in_activations(),
            ACTIVATION_IDS,
            activation_id,
        ),
        "aggregation": _ids(
            "aggregation",
            settings.aggregation_function_defs.functions,
            built_in_aggregations(),
            AGGREGATION_IDS,
            aggregation_id,
        ),
    }


def _ids(
    kind: str,
    functions: dict[str, Callable[..., Any]],
    built_in: dict[str, Callable[..., Any]],
    known: Mapping[str, int],
    look_up: Callable[[str], int],
) -> dict[str, int]:
    if functions == built_in:
        return {name: known.get(name, IN_PYTHON) for name in functions}
    ids = {}
    for name, function in functions.items():
        if built_in.get(name) is function:
            ids[name] = known.get(name, IN_PYTHON)
        else:
            key = (kind, name, function)
            if key not in _translated:
                _translated[key] = _translate(kind, name, function, look_up)
            ids[name] = _translated[key]
    return ids


def _translate(
    kind: str, name: str, function: Callable[..., Any], look_up: Callable[[str], int]
) -> int:
    register = getattr(evonet, f"register_{kind}", None)
    if register is None:
        return IN_PYTHON
    try:
        register(name, function)
        return look_up(name)
    except EvonetError:  # too much for a translation, or the name means something else already
        return IN_PYTHON


def warn_of_python(config: NeatConfig, functions: Iterable[Callable[..., Any]]) -> None:
    """Says once per function what it costs that it runs in Python.

    Args:
        config: A `neat.Config`.
        functions: Those that genomes use.
    """
    new = [function for function in functions if function not in _warned]
    if not new:
        return
    _warned.update(new)
    settings: Any = getattr(config, "genome_config", config)
    ids = function_ids(config)
    tables = {
        "activation": settings.activation_defs.functions,
        "aggregation": settings.aggregation_function_defs.functions,
    }
    names = {f: (kind, name) for kind, table in tables.items() for name, f in table.items()}
    named = [names[f] for f in new if f in names]
    listed = ", ".join(f'{kind} "{name}"' for kind, name in named)
    hint = ""
    if named and all(ids[kind][name] != IN_PYTHON for kind, name in named):
        hint = " exact=False translates it; its values may then differ in the last bits."
    warnings.warn(
        f"{listed}: runs in Python, sample after sample: a tenth of a microsecond and more per "
        f"call, where other nodes take a few nanoseconds, and on one thread.{hint}",
        RuntimeWarning,
        stacklevel=2,
    )
