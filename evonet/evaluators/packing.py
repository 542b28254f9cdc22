"""Populations and evaluations as plain arrays and a few facts, for other processes.

Nothing here is pickled: `facts` hold what JSON can hold, and a task's `info`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.errors import FitnessError
from evonet.evaluation import Evaluation
from evonet.functions.registry import adopted
from evonet.genes.arrays import ARRAYS, GROUPS
from evonet.genes.file import FUNCTIONS, pack_functions, renumber
from evonet.genes.population import Population

Arrays = dict[str, npt.NDArray[Any]]

GENES: Final = "genes."
GATHERED: Final = "gathered."
CURVES: Final = "curves."
STATE: Final = "state."
COLUMNS: Final = ("fitness", "measures", "objectives", "validation")


def pack_population(population: Population) -> tuple[dict[str, Any], Arrays]:
    """Lays out genomes as facts and arrays that mean the same in every process."""
    names, custom, tensors = pack_functions(population)
    facts: dict[str, Any] = {
        "num_inputs": population.num_inputs,
        "num_outputs": population.num_outputs,
    }
    if custom:  # without custom functions, ids mean the same everywhere
        facts |= {"names": names, "functions": custom}
    return facts, {f"{GENES}{name}": array for name, array in tensors.items()}


def unpack_population(facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> Population:
    """Undoes `pack_population`, without copying arrays."""
    found: dict[str, Any] = {name: arrays[f"{GENES}{name}"] for name in ARRAYS}
    pins = {name: facts[name] for name in ("num_inputs", "num_outputs")}
    if "functions" in facts:
        with adopted(facts["functions"]):
            for name, (setting, functions) in FUNCTIONS.items():
                found[name] = renumber(found[name], facts["names"][setting], functions, name)
    return Population(**pins, **found, validate=False)


def cut_arrays(arrays: Mapping[str, Any], start: int, stop: int) -> Arrays:
    """Copies what neighbouring genomes need out of the arrays of a job.

    Args:
        arrays: Those of `pack_population`, maybe "ids" of genomes, and the state of the task.
        start: Position of the first genome.
        stop: Position behind the last one.
    """
    cut: Arrays = {n: np.array(a) for n, a in arrays.items() if n.startswith(STATE)}
    for starts, names in GROUPS:
        offsets = arrays[f"{GENES}{starts}"][start : stop + 1]
        cut[f"{GENES}{starts}"] = offsets - offsets[0]
        for name in names:
            genes = arrays[f"{GENES}{name}"]
            cut[f"{GENES}{name}"] = np.array(genes[offsets[0] : offsets[-1]])
    if "ids" in arrays:
        cut["ids"] = np.array(arrays["ids"][start:stop])
    return cut


def pack_evaluation(evaluation: Evaluation) -> tuple[dict[str, Any], Arrays]:
    """Lays out checked scores; the task's state stays with the driver, who knows it."""
    found = {name: getattr(evaluation, name) for name in COLUMNS}
    arrays = {name: array for name, array in found.items() if array is not None}
    arrays |= {f"{GATHERED}{name}": np.asarray(a) for name, a in evaluation.gathered.items()}
    arrays |= {f"{CURVES}{name}": np.asarray(a) for name, a in evaluation.curves.items()}
    facts: dict[str, Any] = {"info": dict(evaluation.info), "inherits": evaluation.inherits}
    if evaluation.population is not None:
        facts["population"], genes = pack_population(evaluation.population)
        arrays |= genes
    return facts, arrays


def unpack_evaluation(facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> Evaluation:
    """Undoes `pack_evaluation`."""
    gathered, curves = (
        {n.removeprefix(prefix): array for n, array in arrays.items() if n.startswith(prefix)}
        for prefix in (GATHERED, CURVES)
    )
    population = None
    if "population" in facts:
        population = unpack_population(facts["population"], arrays)
    columns: dict[str, Any] = {name: arrays.get(name) for name in COLUMNS}
    return Evaluation(
        **columns,
        population=population,
        info=facts["info"],
        gathered=gathered,
        inherits=facts["inherits"],
        curves=curves,
    )


def join_evaluations(
    parts: Sequence[tuple[Population, Evaluation | None]], task_state: Mapping[str, Any]
) -> Evaluation:
    """Joins the scores of neighbouring parts of a population.

    Whole numbers in `info` are added up and other numbers averaged over genomes; of everything
    else the first part's stays.

    Args:
        parts: In order, genomes and their scores; None for genomes that failed, whose fitness is
            NaN, whose other scores are 0, and which gather and learn nothing.
        task_state: The state of the task by which all were scored.

    Raises:
        FitnessError: Some parts have scores that others lack, or all parts failed.
    """
    scored = [part for _, part in parts if part is not None]
    if not scored:
        raise FitnessError("no genome could be evaluated.")
    example = scored[0]
    if len(parts) == 1:
        return replace(example, task_state=task_state)
    columns: dict[str, Any] = {}
    for name in COLUMNS:
        failed = 0.0 if name in ("measures", "objectives") else np.nan
        found = [None if part is None else getattr(part, name) for _, part in parts]
        columns[name] = _join(name, found, [len(genomes) for genomes, _ in parts], failed)
    gathered, curves = (
        {
            name: _join(
                name,
                [None if part is None else getattr(part, kind).get(name) for _, part in parts],
                [len(genomes) for genomes, _ in parts],
                failed,
            )
            for name in getattr(example, kind)
        }
        for kind, failed in (("gathered", 0.0), ("curves", np.nan))
    )
    population = None
    if any(part.population is not None for part in scored):
        population = Population.concatenate(
            genomes if part is None or part.population is None else part.population
            for genomes, part in parts
        )
    return Evaluation(
        **columns,
        population=population,
        info=_join_info(scored),
        gathered={name: array for name, array in gathered.items() if array is not None},
        task_state=task_state,
        inherits=example.inherits,
        curves={name: array for name, array in curves.items() if array is not None},
    )


def _join(
    name: str, found: Sequence[npt.NDArray[Any] | None], sizes: Sequence[int], failed: float
) -> npt.NDArray[Any] | None:
    given = [array for array in found if array is not None]
    if not given:
        return None
    shapes = {array.shape[1:] for array in given}
    if len(shapes) > 1:
        listed = " and ".join(sorted(str([len(given), *shape]) for shape in shapes))
        raise FitnessError(f"{name} of parts of a population have other shapes: {listed}.")
    rows = [
        np.full((size, *given[0].shape[1:]), failed, given[0].dtype) if array is None else array
        for array, size in zip(found, sizes, strict=True)
    ]
    return np.concatenate(rows)


def _join_info(parts: Sequence[Evaluation]) -> dict[str, object]:
    sizes = [len(part.fitness) for part in parts]
    joined = dict(parts[0].info)
    for name, first in joined.items():
        found: list[Any] = [part.info.get(name) for part in parts]
        if isinstance(first, bool) or not all(isinstance(v, int | float) for v in found):
            continue
        if isinstance(first, int):
            joined[name] = sum(found)
        else:
            weighted = (value * size for value, size in zip(found, sizes, strict=True))
            joined[name] = sum(weighted) / sum(sizes)
    return joined
