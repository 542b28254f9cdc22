"""Saves a population's arrays, and loads them without trusting the file."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from evonet.errors import EvonetError, FileFormatError
from evonet.files.checksummed_tensors import read_tensors, write_tensors
from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE, adopted, is_texts
from evonet.functions.table import Functions
from evonet.genes.arrays import ARRAYS, MOST_PINS
from evonet.messages import did_you_mean, show

if TYPE_CHECKING:
    from evonet.genes.population import Population

Made = TypeVar("Made")

FORMAT: Final = "evonet.population"
VERSION: Final = 1
# Genes store functions by id; a file spells them out, so that ids may change.
FUNCTIONS: Final = {
    "activation": ("activations", ACTIVATION_TABLE),
    "aggregation": ("aggregations", AGGREGATION_TABLE),
}


def save_population(population: Population, path: str | os.PathLike[str]) -> None:
    """Writes a population to a safetensors file; `Population.save` documents it."""
    names, custom, tensors = pack_functions(population)
    settings: dict[str, Any] = {
        "num_inputs": population.num_inputs,
        "num_outputs": population.num_outputs,
        **names,
    }
    if custom:
        settings["functions"] = custom
    write_tensors(path, FORMAT, VERSION, settings, tensors)


def pack_functions(
    population: Population,
) -> tuple[dict[str, list[str]], dict[str, dict[str, str]], dict[str, NDArray[Any]]]:
    """Writes the functions of a population in a form that does not depend on the process.

    Returns the names by id for every setting, the custom functions in use with their expressions,
    and all arrays, with ids that count in those names.
    """
    names: dict[str, list[str]] = {}
    custom: dict[str, dict[str, str]] = {}
    tensors = {name: getattr(population, name) for name in ARRAYS}
    for name, (setting, functions) in FUNCTIONS.items():
        ids, builtin = tensors[name], functions.num_builtin
        used = sorted(functions.own(ids[ids >= builtin]).items())
        names[setting] = [function.name for function in functions[:builtin]]
        names[setting] += [name for name, _ in used]
        if used:
            custom[setting] = dict(used)
            table = np.arange(256, dtype=np.uint8)
            for place, (known, text) in enumerate(used):
                table[functions.id_of(known, text)] = builtin + place
            tensors[name] = table[ids]
    return names, custom, tensors


def read_population(path: str | os.PathLike[str], make: Callable[..., Made]) -> Made:
    """Reads a population from a file; `make` takes the numbers and arrays and validates them."""
    settings, tensors = read_tensors(path, FORMAT, VERSION, ARRAYS)
    where = os.fspath(path)
    expected = {"format", "version", "num_inputs", "num_outputs"}
    expected.update(setting for setting, _ in FUNCTIONS.values())
    if set(settings) - {"functions"} != expected:
        raise FileFormatError(
            f"{where}: has the settings {show(sorted(settings))}. "
            f"Expected {', '.join(sorted(expected))}."
        )
    counts = []
    for name in ("num_inputs", "num_outputs"):
        if type(settings[name]) is not int or not 0 <= settings[name] <= MOST_PINS:
            raise FileFormatError(
                f"{where}: {name} is {show(settings[name])}. Expected 0 to {MOST_PINS}."
            )
        counts.append(settings[name])
    custom = settings.get("functions", {})
    if not is_texts(custom):
        raise FileFormatError(f"{where}: functions are not tables of expressions.")
    try:
        with adopted(custom):
            for name, (setting, functions) in FUNCTIONS.items():
                tensors[name] = renumber(tensors[name], settings[setting], functions, name)
            return make(num_inputs=counts[0], num_outputs=counts[1], **tensors)
    except EvonetError as error:
        raise FileFormatError(f"{where}: {error}") from error


def renumber(ids: NDArray[Any], names: Any, functions: Functions, where: str) -> NDArray[np.uint8]:
    """Turns the ids of a file, which lists names by id, into the ids of this process."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FileFormatError(f"{where}s are {show(names)}. Expected a list of names.")
    if ids.dtype != np.uint8:
        raise FileFormatError(f"{where} has type {ids.dtype}. Expected uint8.")
    if ids.size and ids.max() >= len(names):
        raise FileFormatError(f"{where} has an id {ids.max()}, and the file names {len(names)}.")
    known = functions.ids
    table = np.zeros(256, np.uint8)
    for i in np.unique(ids).tolist():
        if names[i] not in known:
            raise FileFormatError(
                f"{where} {show(names[i])} is not known. {did_you_mean(names[i], known)}"
            )
        table[i] = known[names[i]]
    renumbered: NDArray[np.uint8] = table[ids]
    return renumbered
