"""Saves a population's arrays, and loads them without trusting the file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from evonet.errors import FileFormatError, did_you_mean
from evonet.functions import ACTIVATIONS, AGGREGATIONS, Function
from evonet.gene_layout import ARRAYS, MOST_PINS, GeneArrays
from evonet.tensor_file import read_tensors, write_tensors

if TYPE_CHECKING:
    from evonet.population import Population

FORMAT: Final = "evonet.population"
VERSION: Final = 1
# Genes store functions by id; a file spells them out, so that ids may change.
FUNCTIONS: Final = {
    "activation": ("activations", ACTIVATIONS),
    "aggregation": ("aggregations", AGGREGATIONS),
}


def save_population(population: Population, path: str | os.PathLike[str]) -> None:
    """Writes a population to a safetensors file; `Population.save` documents it.

    Raises:
        OSError: The disk or the folder does not take it.
    """
    settings: dict[str, Any] = {
        "num_inputs": population.num_inputs,
        "num_outputs": population.num_outputs,
    }
    for setting, functions in FUNCTIONS.values():
        settings[setting] = [function.name for function in functions]
    tensors = {name: getattr(population, name) for name in ARRAYS}
    write_tensors(path, FORMAT, VERSION, settings, tensors)


def read_population(path: str | os.PathLike[str]) -> tuple[int, int, GeneArrays]:
    """Reads a file; the genes in it are still to be validated.

    Returns:
        The number of inputs, the number of outputs, and the arrays.

    Raises:
        FileFormatError: The file is damaged, or holds something else.
        OSError: There is no such file, or it cannot be read.
    """
    settings, tensors = read_tensors(path, FORMAT, VERSION, ARRAYS)
    where = os.fspath(path)
    expected = {"format", "version", "num_inputs", "num_outputs"}
    expected.update(setting for setting, _ in FUNCTIONS.values())
    if set(settings) != expected:
        raise FileFormatError(
            f"{where}: has the settings {', '.join(sorted(settings))}. "
            f"Expected {', '.join(sorted(expected))}."
        )
    counts = []
    for name in ("num_inputs", "num_outputs"):
        if type(settings[name]) is not int or not 0 <= settings[name] <= MOST_PINS:
            raise FileFormatError(
                f"{where}: {name} is {settings[name]!r}. Expected 0 to {MOST_PINS}."
            )
        counts.append(settings[name])
    for name, (setting, functions) in FUNCTIONS.items():
        tensors[name] = renumber(tensors[name], settings[setting], functions, f"{where}: {name}")
    return counts[0], counts[1], cast(GeneArrays, tensors)


def renumber(
    ids: NDArray[Any], names: Any, functions: tuple[Function, ...], where: str
) -> NDArray[np.uint8]:
    """Turns the ids of a file into today's ids.

    Args:
        ids: Which of the names each node uses, [N].
        names: The names by id, as the file lists them.
        functions: The registry.
        where: How a message begins.

    Raises:
        FileFormatError: A node uses a name that is not in the registry, or no name at all.
    """
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FileFormatError(f"{where}s are {names!r}. Expected a list of names.")
    if ids.dtype != np.uint8:
        raise FileFormatError(f"{where} has type {ids.dtype}. Expected uint8.")
    if ids.size and ids.max() >= len(names):
        raise FileFormatError(f"{where} has an id {ids.max()}, and the file names {len(names)}.")
    today = {function.name: i for i, function in enumerate(functions)}
    table = np.zeros(256, np.uint8)
    for i in np.unique(ids).tolist():
        if names[i] not in today:
            raise FileFormatError(
                f'{where} "{names[i]}" is not known. {did_you_mean(names[i], today)}'
            )
        table[i] = today[names[i]]
    renumbered: NDArray[np.uint8] = table[ids]
    return renumbered
