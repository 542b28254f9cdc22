"""The ways to score genomes: by examples, by outputs, one by one, or by a task.

A score sees genomes through networks. `of_population` takes compiled networks, so it serves both
neat-python's loop and evonet's; `GenomeScore` takes the genome objects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from evonet.errors import FitnessError, OptionError, ShapeError, check_option
from evonet.evaluation import Evaluation
from evonet.functions.registry import LOSS_IDS
from evonet.plugins.neat_python.exact import AnyNetwork, run_samples
from evonet.plugins.neat_python.genes import NeatGenome
from evonet.plugins.neat_python.population_networks import (
    PopulationNetwork,
    losses,
    subtract_squares,
)
from evonet.tasks.base import adopt, is_task

Outputs = Callable[[npt.NDArray[Any]], npt.ArrayLike]
CustomLoss = Callable[[npt.NDArray[Any], npt.NDArray[Any]], npt.ArrayLike]


class NetworkScore(Protocol):
    """Scores all networks of a population together."""

    def of_population(self, network: AnyNetwork, seed: int) -> npt.ArrayLike:
        """Returns fitness [P] of P networks; the seed differs from generation to generation."""


class DataScore:
    """Fitness = best - loss of outputs for samples x against the right answers y."""

    def __init__(self, x: Any, y: Any, loss: str | CustomLoss, best: float) -> None:
        """Checks that samples and answers fit each other, and that there is such a loss."""
        self.x, self.y = _reals("X", x), _reals("Y", y)
        if self.y.ndim == self.x.ndim - 1:
            self.y = self.y[..., None]  # a single output
        if self.x.ndim not in (2, 3) or self.x.shape[:-1] != self.y.shape[:-1]:
            raise ShapeError(
                "from_data needs X of shape [B, I] and Y of shape [B, O], or sequences [B, T, I] "
                f"and [B, T, O]; found {list(self.x.shape)} and {list(self.y.shape)}."
            )
        if not callable(loss):
            check_option("loss", loss, tuple(LOSS_IDS))
        self.loss = loss
        self.best = float(best)

    def of_population(self, network: AnyNetwork, seed: int) -> npt.ArrayLike:
        """Scores all networks, as `NetworkScore` describes."""
        if self.y.shape[-1] != network.num_outputs:
            raise ShapeError(
                f"Y has {self.y.shape[-1]} columns, and the networks have {network.num_outputs} "
                "outputs. Give Y one column per output."
            )
        if callable(self.loss):
            return self.best - np.asarray(self.loss(run_samples(network, self.x), self.y))
        if self.x.ndim == 2 and not isinstance(network, PopulationNetwork):
            return self.best - network.loss(self.x, self.y, self.loss)
        flat = self.y.reshape(-1, network.num_outputs)
        outputs = run_samples(network, self.x).reshape(len(network), *flat.shape)
        if self.loss == "squared" and isinstance(network, PopulationNetwork):
            return subtract_squares(self.best, outputs, flat)
        return self.best - losses(outputs, flat, self.loss)


class OutputScore:
    """Fitness = a function of all outputs for samples x."""

    def __init__(self, x: Any, function: Outputs) -> None:
        """Checks that these are samples or sequences, and a function."""
        self.x = _reals("X", x)
        if self.x.ndim not in (2, 3):
            raise ShapeError(
                "from_outputs needs X of shape [B, I], or sequences [B, T, I]; "
                f"found {list(self.x.shape)}."
            )
        _check_callable("from_outputs", function, "f(outputs [P, B, O]) -> fitness [P]")
        self.function = function

    def of_population(self, network: AnyNetwork, seed: int) -> npt.ArrayLike:
        """Scores all networks, as `NetworkScore` describes."""
        return self.function(run_samples(network, self.x))


class TaskScore:
    """Fitness = what a task returns."""

    def __init__(self, task: object) -> None:
        """Takes anything that evonet can evolve on."""
        if not is_task(task):
            raise OptionError(
                f"from_task: {task!r} is not a task, which has num_inputs, num_outputs and "
                "evaluate. evonet.tasks.make_task(name) makes one."
            )
        self.task = adopt(task)

    def of_population(self, network: AnyNetwork, seed: int) -> npt.ArrayLike:
        """Scores all networks, as `NetworkScore` describes."""
        for name in ("num_inputs", "num_outputs"):
            wanted, found = getattr(self.task, name), getattr(network, name)
            if wanted != found:
                raise ShapeError(
                    f"the task has {name}={wanted}, and the config's genomes have {found}. Set "
                    f"{name} = {wanted} in [DefaultGenome]."
                )
        network.reset()
        return Evaluation.of(self.task.evaluate(network, seed)).fitness  # type: ignore[arg-type]


class GenomeScore:
    """Fitness = a function of one genome and its drop-in network."""

    def __init__(self, function: Callable[[NeatGenome, Any], float]) -> None:
        """Takes the function."""
        _check_callable("from_genomes", function, "f(genome, net) -> fitness")
        self.function = function

    def of_genomes(
        self, genomes: Sequence[tuple[Any, NeatGenome]], make: Callable[[NeatGenome], Any]
    ) -> list[float]:
        """Scores pairs (id, genome) one at a time, with the networks that `make` makes."""
        return [
            check_fitness(self.function(genome, make(genome)), key, "f(genome, net)")
            for key, genome in genomes
        ]


def check_fitness(found: Any, key: Any, where: str) -> float:
    """Reads one fitness; a FitnessError names a genome whose fitness is no number, or NaN."""
    try:
        value = float(found)
    except (TypeError, ValueError, OverflowError):
        raise FitnessError(
            f"genome id {key}: {where} returned {found!r}. Return its fitness as a number."
        ) from None
    if value != value:
        raise FitnessError(
            f"genome id {key}: {where} returned NaN, with which nothing can be compared. Return a "
            "low fitness for genomes that fail."
        )
    return value


def check_population_fitness(found: Any, ids: Sequence[Any]) -> list[float]:
    """Reads the fitness of all genomes, [P]; a FitnessError names a genome by its id."""
    if found is None:
        raise FitnessError(
            f"the fitness function returned None. Return an array [{len(ids)}], one number per "
            "genome."
        )
    if np.shape(found) != (len(ids),):
        raise FitnessError(
            f"fitness must have shape [{len(ids)}], one number per genome, found "
            f"{list(np.shape(found))}. Reduce outputs [P, B, O] over samples and outputs, as in "
            "outputs.sum(axis=(1, 2))."
        )
    array = np.asarray(found)
    listed: list[Any] = array.tolist()
    if array.dtype == np.float64 and not np.isnan(array).any():
        return listed
    return [
        check_fitness(one, key, "the fitness function")
        for one, key in zip(listed, ids, strict=True)
    ]


def _reals(name: str, found: Any) -> npt.NDArray[np.float64]:
    try:
        array = np.asarray(found)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"found {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be an array of real numbers: {error}.") from None


def _check_callable(where: str, found: object, form: str) -> None:
    if not callable(found):
        raise OptionError(f"{where} needs a function {form}, found {found!r}.")
