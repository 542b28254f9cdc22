"""A round of evaluation: a population to be scored, and its scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import numpy.typing as npt

from evonet.errors import FitnessError
from evonet.genes.population import Population

if TYPE_CHECKING:
    from evonet.network import Network


@dataclass(frozen=True)
class Round:
    """A population that is to be scored.

    Attributes:
        population: [P] the genomes as the algorithm made them.
        ids: [P] number of each genome in the run.
        network: [P] their compiled networks, after decoding.
        seed: The seed for the chance in a task; differs from generation to generation.
        generation: The generation that is scored.
    """

    population: Population
    ids: npt.NDArray[np.int64]
    network: Network
    seed: int
    generation: int


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The scores of a population. Where only fitness matters, a bare array [P] serves as well.

    Attributes:
        fitness: [P] one number per genome.
        measures: [P, D] what genomes do, for algorithms that keep many kinds of them.
        objectives: [P, M] several things to improve at once.
        validation: [P] fitness on something that selects no parents. Where it is given, it decides
            whether the fittest genome of a generation is better than the best one so far.
        population: [P] genomes whose genes learning has changed; None where none were. The best
            genome so far is one of them, as they are what was scored.
        inherits: Whether they also take the place of the genomes that are bred from.
        curves: [P, ...] arrays by name: how each genome learned, as `Best.curves`.
        info: Anything else that a task reports, for callbacks.
        gathered: [P, ...] arrays by name, from which the task updates its state once all genomes
            are scored; see `Task.merge`.
        task_state: The state of the task by which the genomes were scored, if it has one.
        backend: Where networks ran, if the evaluator chose that: "cpu" or "cuda". An algorithm may
            breed there, too.
    """

    fitness: npt.NDArray[Any]
    measures: npt.NDArray[Any] | None = None
    objectives: npt.NDArray[Any] | None = None
    validation: npt.NDArray[Any] | None = None
    population: Population | None = None
    info: Mapping[str, object] = field(default_factory=dict)
    gathered: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    task_state: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    inherits: bool = True
    curves: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    backend: str | None = None

    @classmethod
    def of(cls, found: object) -> Evaluation:
        """Takes what a task returned: an Evaluation, or anything that is an array of fitness.

        Raises:
            FitnessError: It is not an array of numbers.
        """
        if isinstance(found, Evaluation):
            return found
        return cls(found if _is_plain(found) else _numbers("fitness", found))

    def checked(self, size: int) -> Evaluation:
        """Returns the same scores as float64 arrays, whose shapes fit a population.

        Args:
            size: P.

        Raises:
            FitnessError: An array has another shape, or does not hold numbers.
        """
        fitness = _column("fitness", self.fitness, size)
        assert fitness is not None
        if self.population is not None and len(self.population) != size:
            raise FitnessError(
                f"population must have {size} genomes, as many as were evaluated, "
                f"found {len(self.population)}."
            )
        return Evaluation(
            fitness,
            _rows("measures", self.measures, size),
            _rows("objectives", self.objectives, size),
            _column("validation", self.validation, size),
            self.population,
            self.info,
            self.gathered,
            self.task_state,
            self.inherits,
            self.curves,
            self.backend,
        )


def _is_plain(found: Any) -> TypeGuard[npt.NDArray[np.float64]]:
    return type(found) is np.ndarray and found.dtype == np.float64


def _numbers(name: str, found: Any) -> npt.NDArray[np.float64]:
    """Copies real numbers to float64.

    NumPy would parse text, and drop imaginary parts and masks.
    """
    if _is_plain(found):
        return found.copy()
    try:
        if np.ma.is_masked(found):
            raise TypeError("some of them are masked")
        array = np.asarray(found)
        if array.dtype.kind == "O":
            return np.array([_number(value) for value in array.flat]).reshape(array.shape)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"found {array.dtype}")
        return np.array(array, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise FitnessError(f"{name} must be an array of numbers: {error}.") from error


def _number(value: Any) -> float:
    if isinstance(value, str | bytes | bytearray):
        raise TypeError(f"found {type(value).__name__}")
    return np.nan if value is None else float(value)


def _column(name: str, found: Any, size: int) -> npt.NDArray[np.float64] | None:
    if found is None and name != "fitness":
        return None
    column = _numbers(name, found)
    if column.shape != (size,):
        raise FitnessError(
            f"{name} must have shape [{size}], one number per genome, found {list(column.shape)}."
        )
    return column


def _rows(name: str, found: Any, size: int) -> npt.NDArray[np.float64] | None:
    if found is None:
        return None
    rows = _numbers(name, found)
    if rows.ndim != 2 or len(rows) != size:
        raise FitnessError(
            f"{name} must have shape [{size}, any], one row per genome, found {list(rows.shape)}."
        )
    if not np.isfinite(rows).all():
        genome = int(np.argmin(np.isfinite(rows).all(axis=1)))
        raise FitnessError(f"genome {genome}: its {name} are not all finite numbers.")
    return rows
